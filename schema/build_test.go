package schema_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func migrateLarge(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	if err := schema.MigrateLarge(t.Context(), conn, name, nil, time.Minute); err != nil {
		t.Fatalf("migrate schema %q: %v", name, err)
	}
}

// A large table becomes ebb's in steps, and is then what a small one would be.
func TestAdoptLarge(t *testing.T) {
	t.Parallel()
	conn := schematest.Connect(t, schematest.Empty(t))
	for name, columns := range adoptable {
		run(t, conn, `drop schema public cascade; create schema public; create table public.jobs (`+columns+`)`)
		run(t, conn, `insert into public.jobs (queue, payload, status, run_at, attempts, max_attempts, created_at)
			select 'email', '{}', 'queued', '2020-01-01', 0, 5, '2020-01-01' from generate_series(1, 20)`)
		migrateLarge(t, conn, "public")
		wantVersion(t, conn, "public", schema.Version)
		wantLikeGolden(t, conn)
		if n := get[int](t, conn, `select count(*) from public.jobs where status = 'queued' and lost = 0`); n != 20 {
			t.Errorf("%s: %d of 20 rows are left", name, n)
		}
		if n := get[int](t, conn, `select count(*) from pg_constraint where conrelid = 'public.jobs'::regclass and (conname = 'ebb_adopting' or not convalidated)`); n != 0 {
			t.Errorf("%s: a check of the adoption is left", name)
		}
	}
}

// What is wrong with a large table's rows is found before anything is changed, too.
func TestLargeNotAdopted(t *testing.T) {
	t.Parallel()
	conn := schematest.Connect(t, schematest.Empty(t))
	for change, want := range map[string]string{
		`insert into public.jobs (payload, status) values ('{}', 'paused')`:        "rows have the status 'paused'",
		`insert into public.jobs (payload, run_at) values ('{}', null)`:            "column run_at has null values in it",
		`create table public.x (i int); create index ebb_jobs_due on public.x (i)`: "index ebb_jobs_due",
	} {
		run(t, conn, `drop schema public cascade; create schema public; create table public.jobs (`+strings.ReplaceAll(article, " not null", "")+`); `+change)
		before := dump(t, conn, "public")
		err := schema.MigrateLarge(t.Context(), conn, "public", nil, time.Second)
		if !errors.Is(err, schema.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant a refusal that says %q", err, want)
		}
		if after := dump(t, conn, "public"); after != before {
			t.Errorf("it was changed to\n%s", after)
		}
	}
}

// An index that is invalid, as an interrupted build leaves it, or is missing is built
// anew by the next migrate, whatever it is called meanwhile; and what is sound is left alone.
func TestInvalidIndexes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ebb", `o'brien a$$b."x`} {
		conn := schematest.Connect(t, schematest.Empty(t))
		migrate(t, conn, name)
		q := quoted(name)
		oids := func() string {
			return get[string](t, conn, `select string_agg(relname || oid, ' ' order by relname) from pg_class where relkind = 'i' and relnamespace = $1::regnamespace`, q)
		}
		before := oids()
		migrate(t, conn, name)
		if after := oids(); after != before {
			t.Errorf("sound indexes were built anew: %s, now %s", before, after)
		}
		for _, index := range []string{"ebb_jobs_due", "ebb_jobs_taken", "ebb_jobs_running", "ebb_jobs_runs_started"} {
			invalid := `update pg_index set indisvalid = false where indexrelid = '` + strings.ReplaceAll(q+"."+index, "'", "''") + `'::regclass; `
			for _, change := range []string{
				invalid,
				`drop index ` + q + `.` + index,
				invalid + `alter index ` + q + `.` + index + ` rename to ` + index + `_ccnew1`,
			} {
				run(t, conn, change)
				migrate(t, conn, name)
				wantGolden(t, conn, name)
				if n := get[int](t, conn, `select count(*) from pg_index where not indisvalid`); n != 0 {
					t.Errorf("after %s: %d indexes are invalid", change, n)
				}
			}
		}
	}
}

// A build waits for transactions that were there before it, and keeps nobody from the table meanwhile. When that lasts
// it gives up and names them; when it is stopped it says so at once. What it leaves is mended by the next migrate.
func TestBuildWaits(t *testing.T) {
	for name, stop := range map[string]bool{"in vain": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := schematest.Empty(t)
			a, b, c := schematest.Connect(t, url), schematest.Connect(t, url), schematest.Connect(t, url)
			run(t, c, `create schema s; create table s.jobs (`+article+`)`)
			run(t, c, `insert into s.jobs (payload) select '{}' from generate_series(1, 1000)`)
			run(t, a, `set application_name = 'nightly dump'; begin isolation level repeatable read; select 1`)
			pid := get[string](t, a, `select 'pid ' || pg_backend_pid()`)

			var log bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			patience := 2 * time.Second
			if stop {
				patience = time.Minute
			}
			end := make(chan error, 1)
			go func() { end <- schema.MigrateLarge(ctx, b, "s", slog.New(slog.NewTextHandler(&log, nil)), patience) }()
			waiting := `select exists (select from pg_stat_activity where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock')`
			run(t, c, `set statement_timeout = '1s'`)
			var err error
			for under := true; under; {
				run(t, c, `insert into s.jobs (queue, payload) values ('q', '{}')`)
				if stop && get[bool](t, c, waiting) {
					cancel()
				}
				select {
				case err = <-end:
					under = false
				case <-time.After(5 * time.Millisecond):
				}
			}
			switch {
			case err == nil || errors.Is(err, schema.ErrRefused):
				t.Fatalf("got %v", err)
			case stop && !errors.Is(err, context.Canceled):
				t.Errorf("got %v, want the context's end", err)
			case !stop && (!strings.Contains(err.Error(), "blocked by "+pid) || !strings.Contains(err.Error(), "nightly dump")):
				t.Errorf("got %v, want it to name %s", err, pid)
			case !stop && !strings.Contains(log.String(), pid):
				t.Errorf("the log does not name %s:\n%s", pid, &log)
			}
			wantVersion(t, c, "s", 0)
			if n := get[int](t, c, `select count(*) from pg_index where not indisvalid`); n != 1 {
				t.Errorf("%d invalid indexes, want the one of the build that was stopped", n)
			}
			run(t, a, `commit`)
			again := schematest.Connect(t, url)
			migrateLarge(t, again, "s")
			wantVersion(t, again, "s", schema.Version)
			if n := get[int](t, c, `select count(*) from pg_index where not indisvalid`); n != 0 {
				t.Errorf("%d indexes are invalid", n)
			}
		})
	}
}

// Several at once adopt and repair: one after the other builds, none fails.
func TestBuildAtOnce(t *testing.T) {
	t.Parallel()
	url := schematest.Empty(t)
	watch := schematest.Connect(t, url)
	run(t, watch, `create schema s; create table s.jobs (`+article+`); insert into s.jobs (payload) select '{}' from generate_series(1, 1000)`)
	for round := range 3 {
		var wg sync.WaitGroup
		for range 4 {
			conn := schematest.Connect(t, url)
			wg.Go(func() {
				if err := schema.MigrateLarge(t.Context(), conn, "s", nil, time.Minute); err != nil {
					t.Error(fmt.Errorf("round %d: %w", round, err))
				}
			})
		}
		wg.Wait()
		if n := get[int](t, watch, `select count(*) from pg_index where not indisvalid`); n != 0 {
			t.Errorf("round %d: %d indexes are invalid", round, n)
		}
		run(t, watch, `update pg_index set indisvalid = false where indexrelid in ('s.ebb_jobs_due'::regclass, 's.ebb_jobs_taken'::regclass)`)
	}
}
