//go:build unix

package local

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// quick makes starts and stops of a test's server cheap: its data is worth nothing.
var quick = map[string]string{"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}

func TestStart(t *testing.T) {
	temp := publicTemp(t)
	began := time.Now()
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	t.Logf("started in %v", time.Since(began))

	conn := connect(t, s)
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		"server_encoding": "UTF8", "TimeZone": "UTC",
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "is_superuser": "on",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}

	wrong := strings.Replace(s.URL(), s.password, "wrong", 1)
	var refused *pgconn.PgError
	if _, err := pgx.Connect(t.Context(), wrong); !errors.As(err, &refused) || refused.Code != "28P01" {
		t.Errorf("with a wrong password: %v, want 28P01", err)
	}

	// A session in a transaction does not hold the server up.
	if _, err := conn.Exec(t.Context(), "BEGIN; CREATE TABLE kept (id int)"); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped in %v", time.Since(began))
	if err := s.Stop(); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	nothingLeft(t, temp)
}

func TestTwoServers(t *testing.T) {
	a := start(t, Options{Settings: quick})
	b := start(t, Options{Settings: map[string]string{"fsync": "off", "max_connections": "7", "timezone": "Asia/Tokyo"}})
	if a.port == b.port || a.dir.path == b.dir.path || a.password == b.password {
		t.Error("two servers share a port, a directory or a password")
	}
	connect(t, a)
	var got string
	err := connect(t, b).QueryRow(t.Context(), "SELECT concat_ws(' ', current_setting('fsync'), "+
		"current_setting('max_connections'), current_setting('timezone'))").Scan(&got)
	if err != nil || got != "off 7 Asia/Tokyo" {
		t.Errorf("got %q, %v", got, err)
	}
}

// The process is apart from the directory: stopped and started again, on another port, the data is there.
func TestStartAgain(t *testing.T) {
	s := start(t, Options{Settings: quick})
	if _, err := connect(t, s).Exec(t.Context(), "CREATE TABLE kept (id int)"); err != nil {
		t.Fatal(err)
	}
	if err := s.process.stop(); err != nil {
		t.Fatal(err)
	}
	// Takes connections and says nothing, which is the worst that the holder of a port can do.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := s.startOn(t.Context(), taken.Addr().(*net.TCPAddr).Port); !errors.Is(err, errPortTaken) {
		t.Errorf("got %v, want %v", err, errPortTaken)
	}
	if err := s.start(t.Context()); err != nil {
		t.Fatalf("on another port: %v", err)
	}
	if _, err := connect(t, s).Exec(t.Context(), "TABLE kept"); err != nil {
		t.Error(err)
	}
}

func TestStartFails(t *testing.T) {
	temp := publicTemp(t)
	_, err := Start(t.Context(), Options{Settings: map[string]string{"max_connections": "none"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "max_connections"`) {
		t.Errorf("got %v, want what the server says", err)
	}
	nothingLeft(t, temp)
}

func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(publicTemp(t), "missing"))
	_, err := newDirectory(nil)
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v, want the folder that is missing", err)
	}
}

func TestStartCancelled(t *testing.T) {
	temp := publicTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		await(t, "initdb at work", func() bool {
			found, _ := filepath.Glob(filepath.Join(temp, "*", "data", "PG_VERSION"))
			return len(found) > 0
		})
		cancel()
	}()
	if _, err := Start(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	nothingLeft(t, temp)
}

func start(t *testing.T, opt Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, s *Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// publicTemp is a folder of the test's own that any user can reach, as the server's user has to, and makes it the
// folder for temporary files. That of t.TempDir is private.
func publicTemp(t *testing.T) string {
	t.Helper()
	base := os.TempDir()
	if !reachable(base) {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "ebb-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	return dir
}

// nothingLeft says that there is no directory in temp and no process that has to do with one.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", temp, left, err)
	}
	if left := processes(t, temp); len(left) > 0 {
		t.Errorf("left running:\n%s", strings.Join(left, "\n"))
	}
}

// processes returns those whose command line has the text in it.
func processes(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// await waits for something to happen, and fails the test when it does not.
func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("waited in vain: %s", what)
			return
		}
	}
}
