//go:build unix

package cli

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schema"
)

// A server is one of a test's own, for what belongs to a server as a whole: who is let in, and how.
type server struct {
	*testing.T
	url  string // as its superuser
	db   *pgx.Conn
	data string
}

// newServer starts a server with ebb's tables in its database postgres, and a role drainer that may work on them.
func newServer(t *testing.T, settings map[string]string) *server {
	t.Helper()
	all := map[string]string{"fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB", "logging_collector": "on",
		"log_filename": "log", "log_directory": "log"}
	maps.Copy(all, settings)
	own, err := local.Start(t.Context(), local.Options{Settings: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &server{T: t, url: own.URL()}
	if s.db, err = pgx.Connect(t.Context(), s.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close(context.Background()) })
	if err := schema.Migrate(t.Context(), s.db, "ebb", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s.data = text(t, s.db, `show data_directory`)
	do(t, s.db, `create role drainer login`)
	do(t, s.db, `grant usage on schema ebb to drainer`)
	do(t, s.db, `grant all on all tables in schema ebb to drainer`)
	return s
}

// as is the URL of another user, with more parameters.
func (s *server) as(user, password, host, parameters string) string {
	s.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		s.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	u.Host = host + ":" + u.Port()
	u.RawQuery = parameters
	return u.String()
}

// log is how often the server logged a text.
func (s *server) log(text string) int {
	s.Helper()
	log, err := os.ReadFile(filepath.Join(s.data, "log", "log"))
	if err != nil {
		s.Fatal(err)
	}
	return strings.Count(string(log), text)
}

// write puts a file of the server's into its data directory.
func (s *server) write(name string, content []byte) {
	s.Helper()
	path := filepath.Join(s.data, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.Fatal(err)
	}
	owner, err := os.Stat(s.data)
	if err != nil {
		s.Fatal(err)
	}
	stat := owner.Sys().(*syscall.Stat_t)
	if err := os.Chown(path, int(stat.Uid), int(stat.Gid)); err != nil {
		s.Fatal(err)
	}
}
