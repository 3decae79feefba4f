package drain_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// A row that is no longer this run's and this attempt's is not settled, whatever the handler answered.
func TestSettleIsFenced(t *testing.T) {
	for _, change := range []string{`status = 'queued', attempts = 0, lost = 7`, `attempts = attempts + 1`, `locked_by = 'another'`, `locked_by = null`} {
		for _, answer := range []error{nil, errors.New("no"), drain.Fail(errors.New("no")), drain.Suspend(errors.New("no"))} {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload, run_at) values ('{}', '2000-01-01')`)
			config := r.config(func(context.Context, drain.Job) error {
				r.exec(`update ebb.jobs set run_at = now() + interval '1 h', ` + change)
				r.exec(`create table before as select * from ebb.jobs`)
				return answer
			})
			if report := r.run(config); report.Lost != 1 || report.Claimed != 1 {
				t.Errorf("%s, %v: %+v", change, answer, report)
			}
			r.want(`select count(*) from (select * from before except select * from ebb.jobs) changed`, "(0)")
		}
	}
}

// What a run gave back it does not claim again, however long it lasts.
func TestGivenBackOnceARun(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload) values ('default', '{}'), ('long', '{}')`)
	config := r.config(func(context.Context, drain.Job) error { return drain.Misconfigured(errors.New("no program")) })
	config.Backoff = time.Second
	config.Queues = append(config.Queues, drain.Queue{Name: "long", Handler: func(context.Context, drain.Job) error {
		r.wait(r.db, `select count(*) = 1 from ebb.jobs where id = 1 and status = 'queued' and lost = 1 and run_at < now()`)
		r.exec(`insert into ebb.jobs (queue, payload) values ('last', '{}')`)
		return nil
	}}, drain.Queue{Name: "last", Handler: func(context.Context, drain.Job) error { return nil }})
	if report := r.run(config); report.Released != 1 || report.Done != 2 {
		t.Errorf("%+v", report)
	}
	r.once(1)
}

// A job that was lost once runs alone when its last attempt is next.
func TestLastAttemptRunsAlone(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, lost, attempts, max_attempts, run_at) values ('{}', 1, 2, 3, now() - interval '1 h')`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	running := make(chan struct{}, 100)
	report := r.run(r.config(func(_ context.Context, job drain.Job) error {
		running <- struct{}{}
		defer func() { <-running }()
		if job.ID == 1 && len(running) > 1 {
			t.Errorf("%d others were running", len(running)-1)
		}
		return nil
	}))
	if ids := r.ids(); report.Done != 26 || slices.Index(ids, 1) != 25 {
		t.Errorf("order %v; %+v", ids, report)
	}
}

// A waiting job whose lease is lost is asked for once.
func TestLostLeaseOfAWaitingJob(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	config := r.config(func(context.Context, drain.Job) error {
		if len(r.ids()) > 1 {
			return nil
		}
		r.exec(`update ebb.jobs set attempts = 2, locked_by = 'another' where id in (2, 3)`)
		<-time.After(2 * time.Second)
		return nil
	})
	config.Concurrency, config.Lease = 1, time.Second
	if report := r.run(config); report.Lost != 2 || report.Done != 1 || report.Exchanges > 12 {
		t.Errorf("%+v", report)
	}
	r.once(1)
}
