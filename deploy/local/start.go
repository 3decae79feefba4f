package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser = "postgres"
	// startTimeout bounds one start of the server, which takes a tenth of a second.
	startTimeout = time.Minute
)

// Start makes a new, empty server and returns when it answers. The context covers the start alone: the server runs
// until Stop, or until this process ends.
func Start(ctx context.Context, opt Options) (*Server, error) {
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := binaries(ctx, opt, as)
	if err != nil {
		return nil, err
	}
	s := &Server{binaries: dir, settings: opt.Settings, env: opt.Env, account: as, password: rand.Text()}
	s.dir, err = newDirectory(as)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the server: %w", err)
	}
	began := time.Now()
	if err := s.initdb(ctx); err != nil {
		return nil, errors.Join(err, s.dir.release())
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.dir.release())
	}
	opt.log().Debug("started a postgres", "binaries", s.binaries, "port", s.port, "took", time.Since(began))
	return s, nil
}

// initdb fills the directory.
func (s *Server) initdb(ctx context.Context) error {
	password, err := s.dir.create("password", s.account)
	if err != nil {
		return err
	}
	_, err = password.WriteString(s.password + "\n")
	if err := errors.Join(err, password.Close()); err != nil {
		return err
	}
	defer os.Remove(password.Name())

	cmd := exec.CommandContext(ctx, filepath.Join(s.binaries, "initdb"), "--pgdata", s.data(),
		"--username", superuser, "--auth", "scram-sha-256", "--pwfile", password.Name(),
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	cmd.Dir, cmd.Env = s.dir.path, environment()
	cmd.ExtraFiles = []*os.File{s.dir.hold}
	s.account.confine(cmd)
	// Processes of initdb may outlive it for a moment when it is killed; they hold this pipe.
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("initdb: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// start starts the server on a free port. Between the look and the start somebody else may take it; then another one
// is tried.
func (s *Server) start(ctx context.Context) error {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		err = s.startOn(ctx, port)
		if !errors.Is(err, errPortTaken) || try == 5 {
			return err
		}
	}
}

var errPortTaken = errors.New("the port is taken")

// startOn starts the server on the port, and leaves no process when it fails.
func (s *Server) startOn(ctx context.Context, port int) error {
	name := filepath.Join(s.dir.path, "log")
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := s.dir.create("log", s.account)
	if err != nil {
		return err
	}
	defer log.Close()
	s.port = port
	s.process, err = run(s.dir, s.account, s.env, log, s.command()...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer in %v", startTimeout))
	defer cancel()
	err = s.ready(ctx)
	if err == nil {
		return nil
	}
	s.process.stop() // with whatever status: it was not let come up
	s.process = nil
	said, _ := io.ReadAll(io.NewSectionReader(log, 0, 64<<10))
	if bytes.Contains(said, []byte("could not bind")) {
		err = errPortTaken
	}
	return fmt.Errorf("start postgres: %w\n%s", err, bytes.TrimSpace(said))
}

// command is how the server is started. Of several settings of one name the last counts.
func (s *Server) command() []string {
	command := []string{filepath.Join(s.binaries, "postgres"), "-D", s.data(),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port=" + strconv.Itoa(s.port),
		"-c", "unix_socket_directories=",
		"-c", "timezone=UTC",
		"-c", "log_timezone=UTC",
	}
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		command = append(command, "-c", name+"="+s.settings[name])
	}
	return command
}

func (s *Server) data() string { return filepath.Join(s.dir.path, "data") }

// ready waits until the server answers, or has ended.
func (s *Server) ready(ctx context.Context) error {
	config, err := pgx.ParseConfig(s.URL())
	if err != nil {
		return err
	}
	// Whoever took the port in the meantime does not get the password in plain.
	config.RequireAuth = "scram-sha-256"
	config.ConnectTimeout = 5 * time.Second
	ended := s.process.ended
	connecting, cancel := context.WithCancel(ctx)
	go func() {
		<-ended
		cancel()
	}()
	for {
		conn, err := pgx.ConnectConfig(connecting, config)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// freePort finds a port under those that systems give to clients for their own end: one of these could not be had again
// by a server that restarts, if meanwhile some client was given it.
func freePort() (port int, err error) {
	for range 100 {
		port = 15_000 + mathrand.IntN(17_000)
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}
