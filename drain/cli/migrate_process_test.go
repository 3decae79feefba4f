//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// TestMain makes this test binary be ebb where a test says so.
func TestMain(m *testing.M) {
	if os.Getenv("BE_EBB") == "" {
		os.Exit(m.Run())
	}
	os.Unsetenv("BE_EBB")
	os.Exit(Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// A process is ebb as one.
type process struct {
	*exec.Cmd
	stdout, stderr *buffer
	end            chan struct{}
}

func start(t *testing.T, environ []string, args ...string) process {
	t.Helper()
	p := process{exec.Command(os.Args[0], args...), &buffer{}, &buffer{}, make(chan struct{})}
	p.Env = append(environ, "BE_EBB=yes", "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"))
	p.Stdout, p.Stderr = p.stdout, p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.Wait(); close(p.end) }()
	t.Cleanup(func() { p.Process.Kill(); <-p.end })
	return p
}

// result waits for the end.
func (p process) result(t *testing.T) invocation {
	t.Helper()
	select {
	case <-p.end:
		return invocation{p.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
	case <-time.After(time.Minute):
		t.Fatalf("%v does not end: %s", p.Args, p.stderr)
		return invocation{}
	}
}

// jobsBeforeEbb is a table public.jobs as people have made it, small or too large to be adopted in one transaction.
func jobsBeforeEbb(t *testing.T, rows int) (database string, db *pgx.Conn) {
	t.Helper()
	database = schematest.Empty(t)
	db = schematest.Connect(t, database)
	do(t, db, `create table public.jobs (id bigserial primary key, queue text not null default 'default', payload jsonb not null,
		status text not null default 'queued', run_at timestamptz not null default now(), attempts int not null default 0,
		max_attempts int not null default 5, locked_until timestamptz, last_error text, created_at timestamptz not null default now())`)
	do(t, db, fmt.Sprintf(`insert into public.jobs (payload) select to_jsonb(repeat('x', 1800)) from generate_series(1, %d)`, rows))
	return database, db
}

const (
	fewRows  = 10
	manyRows = 6000 // 12 MB
)

// allOfIt is what tells a table public.jobs from a changed one.
const allOfIt = `select concat_ws(' ', (select string_agg(concat_ws(':', attname, atttypid, attnotnull, atthasdef), ' ' order by attnum) from pg_attribute where attrelid = 'public.jobs'::regclass),
	(select string_agg(conname || convalidated, ' ' order by conname) from pg_constraint where conrelid = 'public.jobs'::regclass),
	(select string_agg(relname, ' ' order by relname) from pg_class where relnamespace = 'public'::regnamespace))`

// A long reader of a table that has to be changed. Others write on, and in the end ebb gives up,
// says who was in the way and has changed nothing: exit 1, for nothing has to be set right.
func TestMigrateBehindALongReader(t *testing.T) {
	for name, rows := range map[string]int{"small": fewRows, "large": manyRows} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, db := jobsBeforeEbb(t, rows)
			reader := schematest.Connect(t, database)
			do(t, reader, `set application_name = 'nightly dump'`)
			do(t, reader, `begin`)
			do(t, reader, `select count(*) from public.jobs`)
			before := text(t, db, allOfIt)
			environ := []string{"DATABASE_URL=" + database, "EBB_SCHEMA=public"}

			ebb := start(t, environ, "migrate")
			do(t, db, `set statement_timeout = '1s'`)
			for under := true; under; {
				do(t, db, `insert into public.jobs (payload) values ('{}')`)
				select {
				case <-ebb.end:
					under = false
				case <-time.After(5 * time.Millisecond):
				}
			}
			got := ebb.result(t)
			says := "could not get the lock, blocked by pid " + fmt.Sprint(reader.PgConn().PID()) + ` (user `
			last := got.stderr[strings.LastIndex(strings.TrimSuffix(got.stderr, "\n"), "\n")+1:]
			if got.status != 1 || got.stdout != "" || !strings.HasPrefix(last, "ebb: ") || !strings.Contains(last, says) || !strings.Contains(last, "nightly dump") {
				t.Errorf("exit %d, want 1 and %q: %s%s", got.status, says, got.stdout, got.stderr)
			}
			if after := text(t, db, allOfIt); after != before {
				t.Errorf("the table was\n%s\nnow\n%s", before, after)
			}
			do(t, reader, `commit`)
			if got := start(t, environ, "migrate").result(t); got.status != 0 || got.stdout != "schema public is at version 1\n" {
				t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
			}
		})
	}
}

// The process is stopped, or killed, while an index is built beside those who use the table.
// The next one mends what that left, and goes on.
func TestMigrateStoppedInMidBuild(t *testing.T) {
	for signal, status := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGKILL: -1} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			database, db := jobsBeforeEbb(t, manyRows)
			old := schematest.Connect(t, database)
			do(t, old, `begin isolation level repeatable read`)
			do(t, old, `select 1`)
			environ := []string{"DATABASE_URL=" + database, "EBB_SCHEMA=public"}

			ebb := start(t, environ, "migrate")
			const building = `select count(*)::text from pg_stat_activity where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock'`
			for text(t, db, building) == "0" {
				select {
				case <-ebb.end:
					t.Fatalf("it ended: %s", ebb.stderr)
				case <-time.After(5 * time.Millisecond):
				}
			}
			if err := ebb.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			got := ebb.result(t)
			if got.status != status || got.stdout != "" || signal == syscall.SIGTERM && !strings.HasSuffix(got.stderr, "\nebb: stopped by a signal: terminated\n") {
				t.Errorf("exit %d, want %d: %s%s", got.status, status, got.stdout, got.stderr)
			}
			const invalid = `select count(*)::text from pg_index where not indisvalid`
			if n := text(t, db, invalid); n != "1" {
				t.Errorf("%s indexes are invalid, want that of the build", n)
			}
			do(t, db, `insert into public.jobs (payload) values ('{}')`)

			// After a kill the server goes on with the build for as long as that waits, and the next one waits for it.
			again := start(t, environ, "migrate")
			do(t, old, `commit`)
			if got := again.result(t); got.status != 0 || got.stdout != "schema public is at version 1\n" {
				t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
			}
			if n := text(t, db, invalid); n != "0" {
				t.Errorf("%s indexes are invalid", n)
			}
			if n := text(t, db, `select count(*)::text from public.jobs where status = 'queued' and lost = 0`); n != fmt.Sprint(manyRows+1) {
				t.Errorf("%s jobs are left", n)
			}
		})
	}
}
