//go:build unix

package drain_test

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schema"
)

// A cluster is a server of a test's own, which it may restart, demote and configure.
type cluster struct {
	*testing.T
	url       string
	binaries  string
	data      string
	uid, gid  uint32
	databases int
	mu        sync.Mutex
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	server, err := local.Start(t.Context(), local.Options{Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB", "max_connections": "50",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() }) // its complaint is that somebody else stopped it
	c := &cluster{T: t, url: server.URL()}
	c.sql(c.url, func(db *pgx.Conn) error {
		return db.QueryRow(t.Context(), `select setting, current_setting('data_directory') from pg_config where name = 'BINDIR'`).
			Scan(&c.binaries, &c.data)
	})
	owner, err := os.Stat(c.data)
	if err != nil {
		t.Fatal(err)
	}
	stat := owner.Sys().(*syscall.Stat_t)
	c.uid, c.gid = stat.Uid, stat.Gid
	return c
}

// sql does something in a session of its own.
func (c *cluster) sql(url string, do func(*pgx.Conn) error) {
	c.Helper()
	db, err := pgx.Connect(context.Background(), url)
	if err != nil {
		c.Fatal(err)
	}
	defer db.Close(context.Background())
	if err := do(db); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) exec(statements ...string) {
	c.Helper()
	c.sql(c.url, func(db *pgx.Conn) error {
		for _, s := range statements {
			if _, err := db.Exec(context.Background(), s); err != nil {
				return err
			}
		}
		return nil
	})
}

// ctl runs pg_ctl, as the user whose server it is, and waits until it is through. One at a time: jobs go on as soon as the
// server answers, while pg_ctl still waits for it, and a second restart then would be the first one's failure to start it.
func (c *cluster) ctl(args ...string) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	cmd := exec.Command(filepath.Join(c.binaries, "pg_ctl"), append(args, "-w", "-D", c.data, "-l", filepath.Join(c.data, "log.ctl"))...)
	if args[0] == "stop" || args[0] == "promote" {
		cmd.Args = cmd.Args[:len(cmd.Args)-2]
	}
	cmd.Dir, cmd.Env = "/", []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.gid}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		log, _ := os.ReadFile(filepath.Join(c.data, "log.ctl"))
		c.Errorf("pg_ctl %v: %v\n%s\n%s", args, err, out, log[max(0, len(log)-2000):])
	}
}

// restart restarts the server, which is not a child of this process any more then.
func (c *cluster) restart(mode string) {
	c.Helper()
	c.Cleanup(func() { c.ctl("stop", "-m", "immediate") })
	c.ctl("restart", "-m", mode)
}

// write puts a file of the server's into its data directory.
func (c *cluster) write(name string, content []byte) {
	c.Helper()
	path := filepath.Join(c.data, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		c.Fatal(err)
	}
	if err := os.Chown(path, int(c.uid), int(c.gid)); err != nil {
		c.Fatal(err)
	}
}

// rig makes a migrated database in the cluster, and no session to look into it: the server may be away.
func (c *cluster) rig() *rig {
	c.Helper()
	c.databases++
	name := "jobs" + string(rune('a'+c.databases))
	c.exec("create database " + name + " template template0 strategy file_copy")
	u, err := url.Parse(c.url)
	if err != nil {
		c.Fatal(err)
	}
	u.Path = "/" + name
	r := &rig{T: c.T, url: u.String()}
	c.sql(r.url, func(db *pgx.Conn) error {
		return schema.Migrate(c.Context(), db, "ebb", slog.New(slog.DiscardHandler))
	})
	return r
}

// look connects the rig's session, for as long as the test does not take the server away.
func (r *rig) look() {
	r.Helper()
	db, err := pgx.Connect(context.Background(), r.url)
	if err != nil {
		r.Fatal(err)
	}
	r.db = db
	r.Cleanup(func() { db.Close(context.Background()) })
}
