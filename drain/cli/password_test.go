//go:build unix

package cli

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// The password changes under a run, and the sessions end.
func TestPasswordChanges(t *testing.T) {
	s := newServer(t, nil)
	const first, second = "first%-word", `second/word"@`
	refusedBefore := func() int { return s.log(`password authentication failed for user "drainer"`) }
	// The server's log comes through a pipe, and may be late.
	refusedSince := func(before int) int {
		for deadline := time.Now().Add(5 * time.Second); refusedBefore() == before && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		return refusedBefore() - before
	}
	file := filepath.Join(t.TempDir(), "secret")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asURL := func(password string) string { return s.as("drainer", password, "127.0.0.1", "sslmode=disable") + "\n" }
	asPassfile := func(password string) string { return "*:*:*:drainer:" + password + "\n" }
	t.Setenv("PGPASSFILE", file) // pgx reads it by itself
	without, err := url.Parse(s.as("drainer", "", "127.0.0.1", "sslmode=disable"))
	if err != nil {
		t.Fatal(err)
	}
	without.User = url.User("drainer")

	for _, test := range []struct {
		name    string
		env     string
		secret  func(password string) string
		updated bool
	}{
		{"DATABASE_URL_FILE", "DATABASE_URL_FILE=" + file, asURL, true},
		{"PGPASSFILE", "DATABASE_URL=" + without.String(), asPassfile, true},
		{"not updated", "DATABASE_URL_FILE=" + file, asURL, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			do(t, s.db, `truncate ebb.jobs`)
			do(t, s.db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 40)`)
			do(t, s.db, `alter role drainer password '`+first+`'`)
			write(test.secret(first))
			admin := schematest.Connect(t, s.url)
			before := refusedBefore()
			var started atomic.Int64
			handler := func(context.Context, drain.Job) error {
				if started.Add(1) == 6 {
					do(t, admin, `alter role drainer password '`+second+`'`)
					do(t, admin, `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'drainer'`)
				}
				return nil
			}
			run := begin([]string{test.env, "EBB_CONCURRENCY=4", "EBB_GRACE=2s", "EBB_LOG=json"}, nil,
				[]drain.Queue{{Name: "default", Handler: handler}}, "run")
			waitForLog(t, run, "SQLSTATE 28P01")  // the file comes later than the password
			if test.name == "DATABASE_URL_FILE" { // it is written in two steps, and read between them
				write("")
				waitForLog(t, run, "is empty")
			}
			if test.updated {
				write(test.secret(second))
			}
			got := run.end(t, 40*time.Second)
			r, refused := got.summary(t), refusedSince(before)
			left := text(t, s.db, `select count(*) from ebb.jobs where status = 'done' and attempts = 1`)
			switch {
			case test.updated:
				if got.status != 0 || r.Done != 40 || r.Lost != 0 || started.Load() != 40 || left != "40" {
					t.Errorf("exit %d, %d started, %s done: %+v\n%s", got.status, started.Load(), left, r, got.stderr)
				}
			default:
				if got.status != 1 || r.Lost == 0 || r.Claimed != r.Done+r.Lost || !strings.Contains(r.Error, "28P01") {
					t.Errorf("exit %d: %+v\n%s", got.status, r, got.stderr)
				}
				if named := strings.Count(got.stderr, "the job could not be settled"); named != int(r.Lost) {
					t.Errorf("%d jobs are named: %+v\n%s", named, r, got.stderr)
				}
			}
			if refused == 0 || refused > 4 {
				t.Errorf("refused %d times", refused)
			}
			for _, secret := range []string{first, second, url.PathEscape(first), "first", "second"} {
				if strings.Contains(got.stdout+got.stderr, secret) {
					t.Errorf("a piece of the password, %q, is in %s%s", secret, got.stdout, got.stderr)
				}
			}
		})
	}

	// At the start there is no reason to hope.
	before := refusedBefore()
	got := setup{env: map[string]string{"DATABASE_URL": s.as("drainer", "wrong-thing", "127.0.0.1", "sslmode=disable")}}.ebb("run", "--", "true")
	if refused := refusedSince(before); got.status != 1 || refused != 1 || !strings.Contains(got.summary(t).Error, "28P01") || strings.Contains(got.stderr+got.stdout, "wrong-t") {
		t.Errorf("exit %d, refused %d times: %s%s", got.status, refused, got.stdout, got.stderr)
	}
}
