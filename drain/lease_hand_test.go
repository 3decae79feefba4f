package drain_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/jobs"
)

// A lease that ends later than any that ebb gives was made by hand, and is taken back: it would be there for ever. Those
// that another run may have been given stay.
func TestLeaseByHand(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, status, attempts, locked_by, locked_until) select '1', 'running', 1, 'other', t::timestamptz
		from unnest(array['infinity', now() + interval '10 years', now() + interval '32 days', '294276-12-31 00:00Z', '-infinity', '0044-03-15 00:00Z BC', now() + interval '30 days']::text[]) as t`)
	s, err := jobs.Look(t.Context(), r.db, "ebb", 5)
	if err != nil || len(s.Queues) != 1 || s.Queues[0].Expired != 6 || s.Queues[0].Running != 1 {
		t.Errorf("status: %+v, %v", s.Queues, err)
	}
	if report := r.run(r.config(nil)); report.Reaped != 6 || report.Done != 6 || report.Leased != 1 {
		t.Errorf("%+v", report)
	}
	r.want(`select id from ebb.jobs where status = 'running'`, "(7)")
}

// ebb gives no such lease itself, however long its jobs may take.
func TestLeaseHasABound(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('1')`)
	config := r.config(nil)
	config.MaxRuntime, config.JobTimeout = 200*24*time.Hour, 100*24*time.Hour
	config.Queues[0].Handler = func(context.Context, drain.Job) error {
		r.want(`select locked_until > now() + interval '29 days', locked_until < now() + interval '30 days 1 minute' from ebb.jobs`, "(t,t)")
		return nil
	}
	if report := r.run(config); report.Done != 1 {
		t.Errorf("%+v", report)
	}
}
