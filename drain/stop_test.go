package drain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// A signal in the middle of a batch leaves nothing running without an owner.
func TestStopReleasesWhatHasNotStarted(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	r.exec(`create table before as select * from ebb.jobs`)
	ctx, stop := context.WithCancel(context.Background())
	finish := make(chan struct{})
	config := r.config(func(ctx context.Context, job drain.Job) error {
		stop()
		<-finish
		if ctx.Err() != nil {
			t.Error("the handler's context ended with the signal")
		}
		return nil
	})
	config.Concurrency = 1
	done := r.background(ctx, config)
	// While the first job still works, the other nine are back, due as before.
	r.wait(r.db, `select count(*) = 1 from ebb.jobs where status = 'running' and exists (select from ebb.jobs where locked_by is not null and status = 'queued')`)
	r.want(`select count(*) from ebb.jobs j join before b using (id) where j.status = 'queued' and j.run_at = b.run_at and j.attempts = 0 and j.lost = 0`, "(24)")
	close(finish)
	report := done()
	if report.Stopped != drain.StoppedSignal || report.Done != 1 || report.Released != 9 || report.DueLeft != 24 {
		t.Errorf("report %+v", report)
	}
	r.want(`select status, count(*) from ebb.jobs group by status order by 1`, "(done,1)", "(queued,24)")
	r.want(`select stopped from ebb.jobs_runs`, "(signal)")
}

func TestStopInterruptsLongHandlers(t *testing.T) {
	for _, c := range []struct {
		name   string
		lost   int
		answer func(context.Context) error
		row    string // status, attempts, lost, due one backoff after the stop
	}{
		{"plain error", 0, func(ctx context.Context) error { return ctx.Err() }, "(queued,0,1,t)"},
		{"plain error, lost before", 3, func(ctx context.Context) error { return ctx.Err() }, "(queued,1,4,t)"},
		{"verdict of its own", 0, func(context.Context) error { return drain.Fail(errors.New("no")) }, "(failed,1,0,f)"},
		{"done after all", 0, func(context.Context) error { return nil }, "(done,1,0,f)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload, lost) values ('{}', $1)`, c.lost)
			ctx, stop := context.WithCancel(context.Background())
			config := r.config(func(ctx context.Context, job drain.Job) error {
				stop()
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, drain.ErrStopped) {
					t.Errorf("the context ended because %v", cause)
				}
				return c.answer(ctx)
			})
			config.Grace = 6 * time.Second // the handler's return and the settle have its last 1.8 s, on a busy machine too
			r.exec(`create table began as select now() as at`)
			report, err := r.try(ctx, config)
			if err != nil || report.Stopped != drain.StoppedSignal || report.Abandoned > 0 {
				t.Errorf("%v, %+v", err, report)
			}
			r.want(`select status, attempts, lost, status = 'queued' and run_at - interval '10 s' between began.at and now() as due
				from ebb.jobs, began`, c.row)
		})
	}
}

func TestStopWithAnIgnorantHandler(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	ctx, stop := context.WithCancel(context.Background())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	config := r.config(func(context.Context, drain.Job) error {
		stop()
		<-never
		return nil
	})
	config.Grace = time.Second
	report, err := r.try(ctx, config)
	if err != nil || report.Abandoned != 1 || report.Stopped != drain.StoppedSignal {
		t.Errorf("%v, %+v", err, report)
	}
	r.want(`select status from ebb.jobs`, "(running)")
	r.want(`select stopped, abandoned from ebb.jobs_runs`, "(signal,1)")
}

// However short the grace is, its end finds all handlers that are left.
func TestStopWithManyIgnorantHandlers(t *testing.T) {
	for _, grace := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 10)`)
		ctx, stop := context.WithCancel(context.Background())
		started, never := make(chan struct{}, 10), make(chan struct{})
		t.Cleanup(func() { close(never) })
		config := r.config(func(context.Context, drain.Job) error {
			if started <- struct{}{}; len(started) == 10 {
				stop()
			}
			<-never
			return nil
		})
		config.Grace = grace
		report, err := r.try(ctx, config)
		if !errors.Is(err, drain.ErrAbandoned) || report.Abandoned != 10 || report.Claimed != 10 {
			t.Errorf("%v: %v, %+v", grace, err, report)
		}
		r.want(`select count(*) from ebb.jobs where status = 'running'`, "(10)")
	}
}

// A settlement that the grace was too short for is no failure of the database, which the record still reaches.
func TestGraceTooShortToSettle(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	r.exec(`create function slow() returns trigger language plpgsql as
		$$begin if new.status = 'done' then perform pg_sleep(3); end if; return new; end$$;
		create trigger slow before update on ebb.jobs for each row execute function slow()`)
	ctx, stop := context.WithCancel(context.Background())
	config := r.config(func(context.Context, drain.Job) error { stop(); return nil })
	config.Grace = time.Second
	report, err := r.try(ctx, config)
	if err != nil || report.Stopped != drain.StoppedSignal || report.Lost != 1 || !report.Looked {
		t.Errorf("%v, %+v", err, report)
	}
}

// No job is started that could not end in time; what still fits goes on.
func TestBudget(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload) select q, '{}' from generate_series(1, 8), unnest('{long,short}'::text[]) q`)
	config := r.config(nil)
	config.Concurrency = 1
	config.MaxRuntime, config.Grace = 4*time.Second, time.Second
	slow := func(ctx context.Context, job drain.Job) error {
		r.note(job)
		select {
		case <-time.After(400 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	config.Queues = []drain.Queue{
		{Name: "long", Timeout: 2 * time.Second, Handler: slow},
		{Name: "short", Timeout: 500 * time.Millisecond, Handler: slow},
	}
	began := time.Now()
	report := r.run(config)
	if took := time.Since(began); took > 4*time.Second || report.Stopped != drain.StoppedTime || report.DueLeft == 0 {
		t.Errorf("after %v: %+v", took, report)
	}
	r.want(`select queue, count(*) > 0 as some, count(*) < 8 as notall from ebb.jobs where status = 'done' group by 1 order by 1`, "(long,t,t)", "(short,t,t)")
	r.want(`select count(*) from ebb.jobs where status = 'running' or status = 'queued' and attempts > 0`, "(0)")
}

func TestMaxJobs(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	config := r.config(nil)
	config.MaxJobs = 13
	report := r.run(config)
	if report.Stopped != drain.StoppedJobs || report.Done != 13 || report.DueLeft != 12 {
		t.Errorf("report %+v", report)
	}
}

// A deadline of the context is the end of the budget, not a signal.
func TestDeadlineIsABudget(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 100)`)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	config := r.config(func(context.Context, drain.Job) error { time.Sleep(100 * time.Millisecond); return nil })
	config.Concurrency, config.JobTimeout, config.Grace = 1, time.Second, 500*time.Millisecond
	report, err := r.try(ctx, config)
	if err != nil || ctx.Err() != nil || report.Stopped != drain.StoppedTime {
		t.Errorf("%v, %v, %+v", err, ctx.Err(), report)
	}
	r.want(`select count(*) from ebb.jobs where status = 'running'`, "(0)")
}

// The run waits for jobs about to fall due, without a connection meanwhile.
func TestLinger(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, run_at) values ('{}', now()), ('{}', now() + interval '2 s'), ('{}', now() + interval '1 h')`)
	config := r.config(nil)
	config.Linger = 10 * time.Second
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		r.wait(r.db, `select count(*) = 1 from ebb.jobs where status = 'done'`)
		r.wait(r.db, `select count(*) = 0 from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
		r.want(`select count(*) from ebb.jobs where status = 'done'`, "(1)")
	}()
	report := r.run(config)
	<-looked
	if report.Done != 2 || report.Stopped != drain.StoppedEmpty || report.RunMS > 5000 || report.Exchanges > 6 {
		t.Errorf("report %+v", report)
	}
	r.exec(`delete from ebb.jobs where status = 'queued'`)
	if report := r.run(config); report.Exchanges != 2 || report.RunMS > 5000 {
		t.Errorf("with nothing to linger for: %+v", report)
	}
}
