package drain_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Between the reaper's choice and its update the row is completed, claimed again or extended. The pause
// between the two is real: a row policy makes the reaper's scan wait for a lock of the test's.
func TestReaperChecksAgainUnderTheLock(t *testing.T) {
	for _, change := range []string{
		`status = 'done', locked_until = null, finished_at = now()`,
		`attempts = 2, locked_until = now() + interval '5 min'`,
		`locked_until = now() + interval '5 min'`,
	} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload, status, attempts, locked_until, locked_by, last_error)
			values ('{}', 'running', 1, now() - interval '1 s', 'another', 'as before')`)
		r.exec(`create function pause() returns boolean language plpgsql as
			'begin perform pg_advisory_xact_lock_shared(1); return true; end'`)
		r.exec(`alter table ebb.jobs enable row level security`)
		r.exec(`create policy slow on ebb.jobs using (pause())`)
		url := r.role()
		r.exec(`alter role ` + roleOf(t, url) + ` nosuperuser`)
		r.exec(`grant usage on schema ebb to ` + roleOf(t, url))
		r.exec(`grant all on all tables in schema ebb to ` + roleOf(t, url))
		gate := schematest.Connect(t, r.url)
		open := execOn(t, gate, `select pg_advisory_lock(1)`)
		config := r.config(nil)
		config.Database = database(url)
		done := r.background(context.Background(), config)
		r.wait(r.db, `select exists (select from pg_locks where locktype = 'advisory' and not granted)`)
		r.exec(`update ebb.jobs set ` + change)
		r.exec(`create table before as select * from ebb.jobs`)
		open(`select pg_advisory_unlock(1)`)
		if report := done(); report.Reaped != 0 {
			t.Errorf("%s: %+v", change, report)
		}
		r.want(`select count(*) from (select * from before except select * from ebb.jobs) changed`, "(0)")
	}
}

// A lease shorter than the job is extended as long as the job works, and nobody else gets it.
func TestShortLeaseIsExtended(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	finish := make(chan struct{})
	config := r.config(func(ctx context.Context, job drain.Job) error {
		select {
		case <-finish:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	config.Lease, config.Concurrency = time.Second, 1 // two of the three wait in hand meanwhile
	done := r.background(context.Background(), config)
	r.wait(r.db, `select count(*) = 3 from ebb.jobs where status = 'running'`)
	r.exec(`create table before as select min(locked_until) as until from ebb.jobs`)
	// Other runs come by all the time, until every lease was moved on twice.
	deadline := time.Now().Add(20 * time.Second)
	for len(r.rows(`select from ebb.jobs, before where locked_until > until + interval '2 s'`)) < 3 {
		other := r.config(nil)
		if report := r.run(other); report.Reaped+report.Claimed > 0 || report.Leased != 3 {
			t.Fatalf("another run took something: %+v", report)
		}
		if time.Now().After(deadline) {
			t.Fatal("the leases are not extended")
		}
	}
	close(finish)
	if report := done(); report.Done != 3 || report.Lost != 0 {
		t.Errorf("report %+v", report)
	}
	r.want(`select count(*) from ebb.jobs where status = 'done' and attempts = 1`, "(3)")
}

// A lease that is just as long as the job may take does not keep it from starting, nor the run from resting.
func TestLeaseOfTimeoutAndGrace(t *testing.T) {
	for _, lease := range []time.Duration{1999, 2000, 2001, 2050, 2300} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
		config := r.config(nil)
		config.Lease, config.JobTimeout, config.Grace = lease*time.Millisecond, 1500*time.Millisecond, 500*time.Millisecond
		if report := r.run(config); report.Done != 3 || report.Exchanges > 4 {
			t.Errorf("lease %v: %+v", lease, report)
		}
	}
}

// A handler that goes on after its lease is lost is not asked for again.
func TestLostLeaseIsAskedForOnce(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	config := r.config(func(ctx context.Context, job drain.Job) error {
		r.exec(`update ebb.jobs set attempts = attempts + 1`)
		<-ctx.Done()
		<-time.After(2 * time.Second) // it goes on for a while
		return nil
	})
	config.Lease = time.Second
	if report := r.run(config); report.Lost != 1 || report.Exchanges > 8 {
		t.Errorf("%+v", report)
	}
}

// An extension is fenced: it never revives a job that was settled or taken meanwhile, and the handler is told.
func TestLostLeaseCancelsTheHandler(t *testing.T) {
	for _, change := range []string{
		`status = 'done', locked_until = null`,
		`attempts = attempts + 1`,
		`locked_by = 'another'`,
	} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) values ('{}')`)
		config := r.config(func(ctx context.Context, job drain.Job) error {
			r.exec(`update ebb.jobs set ` + change)
			r.exec(`create table before as select * from ebb.jobs`)
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, drain.ErrLeaseLost) {
				t.Errorf("%s: the context ended because %v", change, cause)
			}
			return nil
		})
		config.Lease = time.Second
		if report := r.run(config); report.Lost != 1 || report.Done != 0 {
			t.Errorf("%s: %+v", change, report)
		}
		r.want(`select count(*) from (select * from before except select * from ebb.jobs) changed`, "(0)")
	}
}

// A row that somebody has locked by hand is asked for again, not given up.
func TestLockedRowIsExtendedLater(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	finish := make(chan struct{})
	config := r.config(func(ctx context.Context, job drain.Job) error {
		<-finish
		return context.Cause(ctx)
	})
	config.Lease = 4 * time.Second
	done := r.background(context.Background(), config)
	r.wait(r.db, `select status = 'running' from ebb.jobs`)
	a := schematest.Connect(t, r.url)
	end := execOn(t, a, `begin`, `select from ebb.jobs for update`)
	r.wait(r.db, `select count(*) > 0 from ebb.jobs where locked_until < now() + interval '1500 ms'`) // past the first try
	end(`rollback`)
	r.wait(r.db, `select count(*) > 0 from ebb.jobs where locked_until > now() + interval '2500 ms'`)
	close(finish)
	if report := done(); report.Done != 1 {
		t.Errorf("report %+v", report)
	}
}

// While a handler works, the session has no open transaction; and the connection is let go when it is not needed.
func TestHandlersRunOutsideAnyTransaction(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	finish := make(chan struct{})
	config := r.config(func(context.Context, drain.Job) error { <-finish; return nil })
	done := r.background(context.Background(), config)
	r.wait(r.db, `select status = 'running' from ebb.jobs`)
	r.want(`select state, xact_start, backend_xmin from pg_stat_activity where application_name = 'ebb' and datname = current_database()`, "(idle,,)")
	r.wait(r.db, `select count(*) = 0 from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
	close(finish)
	if report := done(); report.Done != 1 {
		t.Errorf("report %+v", report)
	}
}

// A job that took its process with it before runs alone.
func TestPoisonRunsAlone(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, lost, attempts, run_at) values ('{"poison": true}', 2, 2, now() - interval '1 h')`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	running := make(chan struct{}, 100)
	report := r.run(r.config(func(_ context.Context, job drain.Job) error {
		running <- struct{}{}
		defer func() { <-running }()
		if strings.Contains(string(job.Payload), "poison") && len(running) > 1 {
			t.Errorf("%d others were running", len(running)-1)
		}
		return nil
	}))
	if ids := r.ids(); report.Done != 26 || ids[25] != 1 {
		t.Errorf("order %v; %+v", ids, report)
	}
}
