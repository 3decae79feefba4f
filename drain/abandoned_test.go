package drain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// A handler that ignores that its context ended keeps its slot, and the run goes on without it.
func TestIgnorantHandlerIsAbandoned(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 12)`)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	config := r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 1 {
			<-never
		}
		return nil
	})
	config.Concurrency = 2
	config.Queues[0].Timeout, config.Grace = 100*time.Millisecond, 200*time.Millisecond
	report := r.run(config)
	if report.Abandoned != 1 || report.Done != 11 || report.Stopped != drain.StoppedEmpty {
		t.Errorf("report %+v", report)
	}
	r.want(`select status, attempts, locked_until > now() as leased from ebb.jobs where id = 1`, "(running,1,t)")

	r.exec(`insert into ebb.jobs (payload) values ('{}'), ('{}')`)
	config = r.config(func(context.Context, drain.Job) error { <-never; return nil })
	config.Concurrency = 1
	config.Queues[0].Timeout, config.Grace = 100*time.Millisecond, 200*time.Millisecond
	report, err := r.try(context.Background(), config)
	if err == nil || report.Abandoned != 1 || report.Released != 1 || report.Stopped != drain.StoppedError {
		t.Errorf("every slot held: %v, %+v", err, report)
	}
}

// abandonable is a config whose handlers are abandoned half a second after they started.
func (r *rig) abandonable(handler drain.Handler) drain.Config {
	config := r.config(handler)
	config.Queues[0].Timeout, config.Grace, config.Lease = 200*time.Millisecond, 200*time.Millisecond, 1500*time.Millisecond
	return config
}

// As long as the run lasts, no other run starts a second copy of an abandoned job: its lease is extended.
func TestAbandonedJobIsNotStartedTwice(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload) values ('default', '{}'), ('long', '{}')`)
	never, finish := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never) })
	config, log := logged(r.abandonable(func(context.Context, drain.Job) error { <-never; return nil }))
	config.Queues = append(config.Queues, drain.Queue{Name: "long", Timeout: time.Minute, Handler: func(context.Context, drain.Job) error { <-finish; return nil }})
	done := r.background(t.Context(), config)
	log.waitFor(t, "did not return", 1)
	r.exec(`create table before as select locked_until as until from ebb.jobs where id = 1`)
	r.wait(r.db, `select locked_until > until + interval '2 s' from ebb.jobs, before where id = 1`) // longer than a lease
	if report := r.run(r.config(nil)); report.Reaped+report.Claimed > 0 {
		t.Errorf("another run took it: %+v", report)
	}
	close(finish)
	if report := done(); report.Abandoned != 1 || report.Done != 1 {
		t.Errorf("%+v", report)
	}
	r.want(`select status, attempts, lost from ebb.jobs where id = 1`, "(running,1,0)")
}

// An abandoned handler that returns after all is settled by its answer, while its lease holds.
func TestAbandonedHandlerThatReturns(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		steal  bool
		row    string
		counts func(drain.Report) int
	}{
		"done":   {nil, false, "(done,1,0)", func(p drain.Report) int { return p.Done }},
		"error":  {errors.New("no"), false, "(queued,1,0)", func(p drain.Report) int { return p.Retried }},
		"failed": {drain.Fail(errors.New("no")), false, "(failed,1,0)", func(p drain.Report) int { return p.Failed }},
		"lost":   {nil, true, "(running,2,0)", func(p drain.Report) int { return p.Lost }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (queue, payload) values ('default', '{}'), ('long', '{}')`)
			finish, finishLong := make(chan struct{}), make(chan struct{})
			config, log := logged(r.abandonable(func(context.Context, drain.Job) error { <-finish; return c.answer }))
			config.Queues = append(config.Queues, drain.Queue{Name: "long", Timeout: time.Minute, Handler: func(context.Context, drain.Job) error { <-finishLong; return nil }})
			done := r.background(t.Context(), config)
			log.waitFor(t, "did not return", 1)
			if c.steal {
				r.exec(`update ebb.jobs set attempts = 2, locked_by = 'another', locked_until = now() + interval '1 h' where id = 1`)
			}
			close(finish)
			log.waitFor(t, "returned after all", 1)
			if !c.steal {
				r.wait(r.db, `select status <> 'running' from ebb.jobs where id = 1`)
			}
			close(finishLong)
			report := done()
			if c.counts(report) != 1+count(name == "done") || report.Abandoned != 0 {
				t.Errorf("%+v", report)
			}
			r.want(`select status, attempts, lost from ebb.jobs where id = 1`, c.row)
		})
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
