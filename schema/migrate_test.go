package schema_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestMigrate(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	settings := `select string_agg(name || '=' || setting, ' ' order by name) from pg_settings where source = 'session'`
	before := get[*string](t, conn, settings)
	wantVersion(t, conn, "ebb", 0)
	for range 3 {
		migrate(t, conn, "ebb")
		wantVersion(t, conn, "ebb", schema.Version)
	}
	if n := get[int](t, conn, `select count(*) from ebb.jobs_version`); n != 1 {
		t.Errorf("%d rows in jobs_version, want 1", n)
	}
	if after := get[*string](t, conn, settings); (before == nil) != (after == nil) || before != nil && *before != *after {
		t.Errorf("the session's settings were %v, now %v", before, after)
	}
	if n := get[int](t, conn, `select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`); n != 0 {
		t.Error("a lock is left on the session")
	}
	if n := get[int](t, conn, `select count(*) from pg_prepared_statements where statement ~ $1`, `In: .1|^select version from`); n != 0 {
		t.Error("a named prepared statement is left on the session")
	}
}

// A session that does not know the migration's lock creates the schema, and in it a table that
// ebb can use or one that it cannot, while migrate runs.
func TestForeignCreate(t *testing.T) {
	for name, c := range map[string]struct {
		create  string
		commit  bool
		refused string
	}{
		"schema":      {create: `create schema if not exists s`, commit: true},
		"rolled back": {create: `create schema if not exists s; create table if not exists s.jobs (id int)`},
		"table":       {create: `create schema if not exists s; create table if not exists s.jobs (` + article + `)`, commit: true},
		"other table": {create: `create schema if not exists s; create table if not exists s.jobs (id int)`, commit: true, refused: "column id is integer, not bigint"},
		"own table":   {create: ownSQL(t, "s"), commit: true},
	} {
		// At once: while migrate waits for the name, so that it meets an error of the catalog's. Later: it gave up waiting
		// once, and finds what is there when it tries again.
		for when, hold := range map[string]time.Duration{"at once": 0, "later": 700 * time.Millisecond} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				url := schematest.Empty(t)
				a, b, watch := schematest.Connect(t, url), schematest.Connect(t, url), schematest.Connect(t, url)
				run(t, a, `begin; `+c.create)
				end := make(chan error, 1)
				go func() { end <- schema.Migrate(t.Context(), b, "s", nil) }()
				waitForWaiter(t, watch)
				time.Sleep(hold)
				if c.commit {
					run(t, a, `commit`)
				} else {
					run(t, a, `rollback`)
				}
				err := <-end
				if c.refused != "" {
					if !errors.Is(err, schema.ErrRefused) || !strings.Contains(err.Error(), c.refused) {
						t.Fatalf("got %v, want a refusal that says %q", err, c.refused)
					}
					wantVersion(t, watch, "s", 0)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				wantVersion(t, watch, "s", schema.Version)
				if n := get[int](t, watch, `select count(*) from s.jobs_version`); n != 1 {
					t.Errorf("%d rows in jobs_version, want 1", n)
				}
			})
		}
	}
}

// ownSQL is what a DBA would run by hand, without the transaction's begin and end.
func ownSQL(t *testing.T, name string) string {
	sql, err := schema.SQL(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.Replace(sql, "begin;", "", 1), "commit;\n")
}

// waitForWaiter waits until a session of this database waits for a lock, or tries one again and again.
func waitForWaiter(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if get[int](t, conn, `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
			and (wait_event_type = 'Lock' or query ~ 'pg_locks')`) > 0 {
			return
		}
	}
	t.Fatal("no session came to wait for a lock")
}

// Eight migrate at once on a fresh database.
func TestEightAtOnce(t *testing.T) {
	url := schematest.Empty(t)
	var conns []*pgx.Conn
	for range 8 {
		conns = append(conns, schematest.Connect(t, url))
	}
	for round := range 20 {
		name := fmt.Sprintf("s%d", round)
		var wg sync.WaitGroup
		for _, conn := range conns {
			wg.Go(func() {
				if err := schema.Migrate(t.Context(), conn, name, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantGolden(t, conns[0], name)
		if n := get[int](t, conns[0], `select count(*) from `+name+`.jobs_version`); n != 1 {
			t.Errorf("%d rows in jobs_version, want 1", n)
		}
	}
}

// A backend that is terminated at any moment leaves nothing, or all.
func TestTerminated(t *testing.T) {
	url := schematest.Empty(t)
	watch := schematest.Connect(t, url)
	cut := 0
	for round := range 30 {
		name := fmt.Sprintf("s%d", round)
		conn := schematest.Connect(t, url)
		end := make(chan error, 1)
		go func() { end <- schema.Migrate(t.Context(), conn, name, nil) }()
		time.Sleep(rand.N(12 * time.Millisecond))
		get[bool](t, watch, `select pg_terminate_backend($1)`, conn.PgConn().PID())
		if err := <-end; err != nil {
			cut++
			if n := get[int](t, watch, `select count(*) from pg_namespace where nspname = $1`, name); n != 0 {
				wantVersion(t, watch, name, schema.Version) // it was cut when all was done
			}
		}
		migrate(t, watch, name)
		wantGolden(t, watch, name)
	}
	if cut == 0 {
		t.Error("no migration was cut: the test proves nothing on this machine")
	}
}

func TestVersions(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	migrate(t, conn, "ebb")
	for change, want := range map[string]string{
		`update ebb.jobs_version set version = 7, oldest = 2`:                                   "schema ebb is at version 7, this binary knows 1: use a newer ebb",
		`update ebb.jobs_version set version = -1`:                                              "which there never was",
		`delete from ebb.jobs_version`:                                                          "ebb.jobs_version is empty",
		`alter table ebb.jobs_version rename column version to v`:                               "has no integer columns version and oldest",
		`alter table ebb.jobs_version drop column oldest`:                                       "has no integer columns version and oldest",
		`drop table ebb.jobs_version`:                                                           "table jobs_runs",
		`drop table ebb.jobs_version, ebb.jobs_runs`:                                            "function enqueue(text, jsonb, timestamp with time zone, text, integer), index ebb_jobs_due",
		`drop schema ebb cascade; create schema ebb; create table ebb.jobs_archive (id bigint)`: "table jobs_archive",
	} {
		run(t, conn, `begin; `+change+`; commit`)
		before := dump(t, conn, "ebb")
		err := schema.Migrate(t.Context(), conn, "ebb", nil)
		if !errors.Is(err, schema.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a refusal that says %q", change, err, want)
		}
		if after := dump(t, conn, "ebb"); after != before {
			t.Errorf("%s: the schema was changed to\n%s", change, after)
		}
		run(t, conn, `drop schema ebb cascade`)
		migrate(t, conn, "ebb")
	}
}

// A role that may not create a schema is told so as something to mend, and one that owns its schema needs no more.
func TestPrivileges(t *testing.T) {
	url := schematest.Empty(t)
	conn := schematest.Connect(t, url)
	role := fmt.Sprintf("ebb_test_%d", rand.Uint64())
	run(t, conn, `create role `+role)
	defer func() { run(t, conn, `reset role; drop owned by `+role+`; drop role `+role) }()
	run(t, conn, `set role `+role)
	err := schema.Migrate(t.Context(), conn, "ebb", nil)
	if !errors.Is(err, schema.ErrRefused) || !strings.Contains(err.Error(), "--print") {
		t.Errorf("got %v, want a refusal that says what to type", err)
	}
	run(t, conn, `reset role; create schema ebb authorization `+role+`; set role `+role)
	migrate(t, conn, "ebb")
	wantVersion(t, conn, "ebb", schema.Version)
}

// Whatever the role or the database has set, the migration goes by its own settings, and leaves those as they are.
func TestHostileSettings(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	run(t, conn, `create schema evil; create function evil.now() returns timestamptz language sql as $$select 'epoch'::timestamptz$$`)
	for _, setting := range []string{
		`default_transaction_isolation = serializable`, `default_transaction_read_only = on`, `lock_timeout = 1`,
		`search_path = evil, pg_catalog`, `standard_conforming_strings = off`, `default_transaction_deferrable = on`,
		`check_function_bodies = off`, `quote_all_identifiers = on`,
	} {
		run(t, conn, `set `+setting)
	}
	migrate(t, conn, "ebb")
	run(t, conn, `reset all`)
	wantGolden(t, conn, "ebb")
}

func TestCanceled(t *testing.T) {
	url := schematest.Empty(t)
	a, b := schematest.Connect(t, url), schematest.Connect(t, url)
	run(t, a, `begin`)
	get[any](t, a, `select pg_advisory_xact_lock($1)`, schema.LockKey("ebb"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := schema.Migrate(ctx, b, "ebb", nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's end", err)
	}
}
