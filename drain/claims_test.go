package drain_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// The reasons for the claim as it is. Each way of claiming is tried by two sessions at once on the same ten jobs: a pick
// that the update follows hands jobs to both, a plain FOR UPDATE makes the second wait for the first, and ebb's does
// neither.
func TestWaysOfClaiming(t *testing.T) {
	const due = `select id from ebb.jobs where status = 'queued' and run_at <= now() order by run_at, id limit 10`
	take := func(ctx context.Context, tx pgx.Tx, lock string) (ids []int64, err error) {
		rows, _ := tx.Query(ctx, due+lock)
		if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `update ebb.jobs set status = 'running', attempts = attempts + 1 where id = any ($1)`, ids)
		return ids, err
	}
	for _, c := range []struct {
		name, lock string
		both       int  // jobs that both sessions get
		waits      bool // the second, until the first commits
	}{
		{"pick, then update", "", 10, true},
		{"for update", " for update", 0, true},
		{"for no key update skip locked", " for no key update skip locked", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 20)`)
			ctx := context.Background()
			begin := func() pgx.Tx {
				tx, err := schematest.Connect(t, r.url).Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				return tx
			}
			first, second := begin(), begin()
			a, err := take(ctx, first, c.lock)
			if err != nil {
				t.Fatal(err)
			}
			type got struct {
				ids []int64
				err error
			}
			done := make(chan got, 1)
			go func() {
				ids, err := take(ctx, second, c.lock)
				done <- got{ids, err}
			}()
			if c.waits {
				r.wait(r.db, `select exists (select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database())`)
			}
			var b got
			if !c.waits {
				b = <-done
			}
			if err := first.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			if c.waits {
				b = <-done
			}
			if b.err != nil {
				t.Fatal(b.err)
			}
			if err := second.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			both := len(slices.DeleteFunc(slices.Clone(a), func(id int64) bool { return !slices.Contains(b.ids, id) }))
			if both != c.both || len(a) != 10 || len(b.ids) != 10 {
				t.Errorf("%d jobs for one, %d for the other, %d for both", len(a), len(b.ids), both)
			}
		})
	}
}

// The database's clock is ten minutes off the worker's, either way; nothing but durations is the worker's.
func TestWorkerClockIsWrong(t *testing.T) {
	library := faketime(t)
	for _, shift := range []string{"+600s", "-600s"} {
		t.Run(shift, func(t *testing.T) {
			r := shiftedRig(t, library, shift)
			var off float64
			if err := r.db.QueryRow(t.Context(), `select extract(epoch from clock_timestamp())::float8`).Scan(&off); err != nil {
				t.Fatal(err)
			}
			if off -= float64(time.Now().Unix()); off > -500 && off < 500 {
				t.Fatalf("the server's clock is only %.0f s off", off)
			}
			r.exec(`insert into ebb.jobs (payload, run_at) values ('{"fails": true}', now() - interval '1 s'), ('{}', now() + interval '5 min')`)
			r.exec(`insert into ebb.jobs (payload, status, attempts, locked_by, locked_until) values ('{}', 'running', 1, 'another', now() + interval '3 min')`)
			r.exec(`insert into ebb.jobs (payload, run_at) values ('{}', now() - interval '1 s')`)
			report := r.run(r.config(func(_ context.Context, job drain.Job) error {
				if job.ID == 1 {
					return fmt.Errorf("no")
				}
				other := schematest.Connect(t, r.url)
				var lease float64
				if err := other.QueryRow(context.Background(), `select extract(epoch from locked_until - now())::float8 from ebb.jobs where id = $1`, job.ID).Scan(&lease); err != nil {
					return err
				}
				if lease < 370 || lease > 380 {
					t.Errorf("the lease is %.1f s long, want 380", lease)
				}
				return nil
			}))
			if report.Done != 1 || report.Retried != 1 || report.Reaped != 0 || report.Leased != 1 {
				t.Errorf("report %+v", report)
			}
			r.want(`select id, status, attempts from ebb.jobs order by id`, "(1,queued,1)", "(2,queued,0)", "(3,running,1)", "(4,done,1)")
			r.want(`select round(extract(epoch from run_at - now())) between 15 and 20 as later from ebb.jobs where id = 1`, "(t)")
		})
	}
}

func faketime(t *testing.T) string {
	for _, path := range []string{
		"/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
	} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	schematest.Missing(t, "faketime", "a server whose clock is wrong needs libfaketime (Debian: apt-get install faketime)")
	return ""
}

// shiftedRig is a rig on a server of its own, whose clock is off.
func shiftedRig(t *testing.T, library, shift string) *rig {
	ctx := context.Background()
	server, err := local.Start(ctx, local.Options{
		Settings: map[string]string{"fsync": "off"},
		Env:      []string{"LD_PRELOAD=" + library, "FAKETIME=" + shift, "DONT_FAKE_MONOTONIC=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	r := &rig{T: t, url: server.URL(), db: schematest.Connect(t, server.URL())}
	if err := schema.Migrate(ctx, r.db, "ebb", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return r
}
