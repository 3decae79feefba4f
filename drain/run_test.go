package drain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func withUser(t *testing.T, text, user, password string) string {
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

func TestRunDrainsEverythingOnce(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select jsonb_build_object('n', n) from generate_series(1, 1000) n`)
	report := r.run(r.config(nil))
	if report.Stopped != drain.StoppedEmpty || report.Done != 1000 {
		t.Errorf("report %+v", report)
	}
	ids := r.ids()
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 1000 {
		t.Errorf("%d jobs were handled %d times", len(slices.Compact(ids)), len(r.ids()))
	}
	r.want(`select status, count(*) from ebb.jobs group by status`, "(done,1000)")
	r.want(`select stopped, claimed, done, exchanges from ebb.jobs_runs`, fmt.Sprintf("(empty,1000,1000,%d)", report.Exchanges))
}

// What is finished waits for company as long as the last exchange took. Here that is long, measured by what may hold up a
// handler on a busy machine; and no machine is that busy three times.
func TestTenFastJobsCostAnExchange(t *testing.T) {
	r := newRig(t)
	r.exec(`create function slow() returns trigger language plpgsql as $$begin perform pg_sleep(0.02); return null; end$$;
		create trigger slow after update on ebb.jobs for each statement execute function slow()`)
	const most = 20 + 2 // one per ten jobs, one that finds nothing more, one that records
	var needed []int
	for range 3 {
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 200)`)
		report := r.run(r.config(nil))
		if report.Done != 200 {
			t.Fatalf("report %+v", report)
		}
		if report.Exchanges <= most {
			return
		}
		needed = append(needed, report.Exchanges)
	}
	t.Errorf("%d exchanges, want at most %d", needed, most)
}

func TestEmptyWakeCostsTwoExchanges(t *testing.T) {
	r := newRig(t)
	report := r.run(r.config(nil))
	if report.Exchanges != 2 || report.Stopped != drain.StoppedEmpty || report.Claimed != 0 {
		t.Errorf("report %+v", report)
	}
	r.want(`select pid, state, backend_type, query from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
}

// Under every planner setting a claim takes no more than it asked for.
func TestClaimTakesNoMoreThanABatch(t *testing.T) {
	r := newRig(t)
	r.exec(`drop index ebb.ebb_jobs_due`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 50)`)
	config := r.config(nil)
	config.Database = database(r.role("enable_hashjoin=off", "enable_mergejoin=off", "enable_material=off",
		"enable_memoize=off", "enable_hashagg=off", "enable_sort=off"))
	counts := make(chan []string, 1)
	config.Concurrency = 1
	config.Queues[0].Handler = func(_ context.Context, job drain.Job) error {
		select {
		case counts <- nil:
			other, err := pgx.Connect(context.Background(), r.url)
			if err != nil {
				return err
			}
			defer other.Close(context.Background())
			rows, _ := other.Query(context.Background(), `select status || ' ' || count(*) from ebb.jobs group by status order by status`)
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			if !slices.Equal(got, []string{"queued 40", "running 10"}) {
				t.Errorf("during the first job: %q", got)
			}
		default:
		}
		return nil
	}
	if report := r.run(config); report.Done != 50 {
		t.Errorf("report %+v", report)
	}
}

// Jobs are started in the order in which they fell due, whatever order the update gives them in.
func TestJobsStartInDueOrder(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select jsonb_build_object('n', g) from generate_series(1, 1000) g`)
	r.exec(`update ebb.jobs set run_at = now() - make_interval(secs => id)`)
	config := r.config(nil)
	config.Concurrency = 1
	r.run(config)
	ids := r.ids()
	if len(ids) != 1000 || !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) {
		t.Errorf("%d jobs, the first ones %v", len(ids), ids[:min(20, len(ids))])
	}
}

func TestQueuesAreDrainedInTheirOrder(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload, run_at)
		select q, '{}', now() - make_interval(secs => g) from generate_series(1, 15) g, unnest('{late,soon,other}'::text[]) q`)
	config := r.config(nil)
	config.Concurrency = 1
	h := config.Queues[0].Handler
	config.Queues = []drain.Queue{{Name: "soon", Handler: h}, {Name: "late", Handler: h}}
	report := r.run(config)
	var order []string
	for _, j := range r.seen {
		order = append(order, j.Queue)
	}
	if got := strings.Join(slices.Compact(order), " "); got != "soon late" {
		t.Errorf("queues in the order %s", got)
	}
	if report.Unhandled != 15 || report.DueLeft != 0 {
		t.Errorf("report %+v", report)
	}
}

// What is not committed is not there, what commits late is not forgotten, and a locked row is skipped but
// counted.
func TestLateCommitsAndLockedRows(t *testing.T) {
	r := newRig(t)
	for _, end := range []string{"commit", "rollback"} {
		a := schematest.Connect(t, r.url)
		begun := execOn(t, a, `begin`, `insert into ebb.jobs (payload) values ('{"late": true}')`)
		r.exec(`insert into ebb.jobs (payload) values ('{}')`)
		if report := r.run(r.config(nil)); report.Done != 1 || report.DueLeft != 0 {
			t.Errorf("before the %s: %+v", end, report)
		}
		begun(end)
		want := map[string]int{"commit": 1, "rollback": 0}[end]
		if report := r.run(r.config(nil)); report.Done != want {
			t.Errorf("after the %s: %+v", end, report)
		}
	}
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	a := schematest.Connect(t, r.url)
	end := execOn(t, a, `begin`, `select from ebb.jobs where status = 'queued' for update`)
	if report := r.run(r.config(nil)); report.Done != 0 || report.DueLeft != 1 || report.Stopped != drain.StoppedEmpty {
		t.Errorf("with a locked row: %+v", report)
	}
	end("rollback")
	if report := r.run(r.config(nil)); report.Done != 1 || report.DueLeft != 0 {
		t.Errorf("afterwards: %+v", report)
	}
}

func execOn(t *testing.T, db *pgx.Conn, sqls ...string) func(...string) {
	t.Helper()
	do := func(sqls ...string) {
		t.Helper()
		for _, sql := range sqls {
			if _, err := db.Exec(context.Background(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	do(sqls...)
	return do
}

// A session that inserts a reference to a job holds KEY SHARE on it: the claim neither waits for it nor misses the job,
// where one with FOR UPDATE SKIP LOCKED would.
func TestReferencedJobsAreClaimed(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	r.exec(`create table receipts (job bigint references ebb.jobs)`)
	a := schematest.Connect(t, r.url)
	execOn(t, a, `begin`, `insert into receipts select id from ebb.jobs`)
	r.want(`select count(*) from (select from ebb.jobs where status = 'queued' for update skip locked) c`, "(0)")
	if report := r.run(r.config(nil)); report.Done != 1 {
		t.Errorf("report %+v", report)
	}
}

// Rows that nobody would ever touch again end with a reason.
func TestSpentAttemptsEndFailed(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, status, attempts, max_attempts, locked_until) values
		('{}', 'running', 3, 3, now() - interval '1 h'), ('{}', 'queued', 3, 3, null), ('{}', 'queued', 4, 3, null),
		('{}', 'running', 2, 3, null), ('{}', 'queued', 0, 0, null), ('{}', 'queued', 0, -1, null),
		('{}', 'queued', 2147483647, 2147483647, null), ('{}', 'running', 2147483647, 2147483647, null)`)
	r.exec(`update ebb.jobs set lost = 2147483647 where id = 8`)
	report := r.run(r.config(nil))
	r.want(`select id, status, attempts, lost from ebb.jobs order by id`,
		"(1,failed,3,1)", "(2,failed,3,0)", "(3,failed,4,0)", "(4,done,3,1)", "(5,failed,0,0)", "(6,failed,0,0)",
		"(7,failed,2147483647,0)", "(8,failed,2147483647,2147483647)")
	r.want(`select id from ebb.jobs where status = 'failed' and (last_error is null or finished_at is null)`)
	r.want(`select last_error ~ '^attempt 3 of 3, 2.*Z, run unknown: the lease ran out, taken back by run [0-9a-f]{32}: the worker was lost$' from ebb.jobs where id = 1`, "(t)")
	if len(r.ids()) != 1 || report.Claimed != 1 || report.Reaped != 8 || report.FailedForGood != 7 {
		t.Errorf("%d handled; %+v", len(r.ids()), report)
	}
}

func TestSingleAttemptIsGivenBackOnce(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, status, attempts, max_attempts, locked_until) values ('{}', 'running', 1, 1, now())`)
	if report := r.run(r.config(nil)); report.Reaped != 1 || report.Done != 1 {
		t.Errorf("report %+v", report)
	}
	r.exec(`update ebb.jobs set status = 'running', locked_until = now(), finished_at = null`)
	r.run(r.config(nil))
	r.want(`select status, attempts, lost from ebb.jobs`, "(failed,1,2)")
}

func TestBackoffNeverOverflows(t *testing.T) {
	r := newRig(t)
	for _, base := range []time.Duration{time.Second, 30 * time.Millisecond} {
		r.exec(`delete from ebb.jobs`)
		r.exec(`insert into ebb.jobs (payload, attempts, max_attempts)
			select '{}', a, 2147483647 from unnest('{0,30,31,32,36,37,38,39,61,62,63,64,118,1000,32767,2147483645}'::int[]) a`)
		config := r.config(func(context.Context, drain.Job) error { return errors.New("no") })
		config.Backoff = base
		if report := r.run(config); report.Retried != 16 {
			t.Errorf("base %v: %+v", base, report)
		}
		r.want(`select count(*) from ebb.jobs where attempts > 30 and run_at not between now() + interval '59 min' and now() + interval '1 h'`, "(0)")
		r.want(`select count(*) from ebb.jobs where run_at < now() + interval '500 ms'`, "(0)")
	}
}

// A run does not spin on jobs that fail at once, nor for ever on a job that enqueues its like.
func TestRunDoesNotSpin(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, max_attempts) select '{}', 1000 from generate_series(1, 20)`)
	config := r.config(func(context.Context, drain.Job) error { return errors.New("no") })
	config.Backoff, config.MaxBackoff = time.Nanosecond, time.Second
	if report := r.run(config); report.Claimed > 40 || report.Stopped != drain.StoppedEmpty {
		t.Errorf("failing at once: %+v", report)
	}

	r.exec(`delete from ebb.jobs`)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	config = r.config(func(ctx context.Context, _ drain.Job) error {
		db, err := pgx.Connect(ctx, r.url)
		if err != nil {
			return err
		}
		defer db.Close(ctx)
		_, err = db.Exec(ctx, `insert into ebb.jobs (payload) values ('{}')`)
		return err
	})
	config.MaxRuntime, config.Grace, config.JobTimeout = 3*time.Second, 500*time.Millisecond, time.Second
	if report := r.run(config); report.Stopped != drain.StoppedTime || report.DueLeft != 1 {
		t.Errorf("enqueuing its like: %+v", report)
	}
	r.want(`select status, count(*) from ebb.jobs where status <> 'done' group by status`, "(queued,1)")
}

func TestInfiniteRunAt(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, run_at) values ('{}', 'infinity'), ('{}', '-infinity'), ('{}', now())`)
	report := r.run(r.config(nil))
	if report.Done != 2 || report.NextDueAt != nil || report.DueLeft != 0 {
		t.Errorf("report %+v", report)
	}
	r.want(`select id, status from ebb.jobs order by id`, "(1,queued)", "(2,done)", "(3,done)")
	for _, job := range r.seen {
		if job.RunAt.IsZero() != (job.ID == 2) {
			t.Errorf("job %d came with run_at %v", job.ID, job.RunAt)
		}
	}
}

// Times beyond the years of JSON's are nobody's trouble.
func TestFarAwayRunAt(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, run_at) values ('{}', now()), ('{}', '294276-12-31'), ('{}', '4000-01-01 BC')`)
	report := r.run(r.config(nil))
	if _, err := json.Marshal(report); err != nil || report.Done != 2 || report.NextDueAt != nil {
		t.Errorf("%v, %+v", err, report)
	}
}

// With a single slot, too, fast jobs cost an exchange a ten.
func TestOneSlotCostsAnExchangeATen(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 200)`)
	config := r.config(func(context.Context, drain.Job) error { time.Sleep(3 * time.Millisecond); return nil })
	config.Concurrency = 1
	if report := r.run(config); report.Done != 200 || report.Exchanges > 23 {
		t.Errorf("report %+v", report)
	}
}

// One deep and one huge payload harm nobody else.
func TestDeepAndHugePayloads(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 9)`)
	r.exec(`insert into ebb.jobs (payload) select (repeat('[', 10001) || repeat(']', 10001))::jsonb`)
	r.exec(`insert into ebb.jobs (payload) select jsonb_build_object('s', repeat('x', 17000000)) from generate_series(1, 3)`)
	config := r.config(nil)
	report := r.run(config)
	if report.Done != 13 {
		t.Errorf("report %+v", report)
	}
}
