package jobs_test

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain/jobs"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Times that are none break no count and no age.
func TestLook(t *testing.T) {
	db := schematest.Connect(t, schematest.New(t))
	if _, err := db.Exec(t.Context(), `insert into ebb.jobs (queue, payload, status, run_at, locked_until) values
		('a', '{}', 'queued', now() - interval '90 s', null),
		('a', '{}', 'queued', now() + interval '1 h', null),
		('a', '{}', 'running', '-infinity', now() + interval '1 h'),
		('a', '{}', 'running', now(), null),
		('a', '{}', 'failed', '-infinity', null),
		('b', '{}', 'queued', '-infinity', null),
		('b', '{}', 'queued', 'infinity', null),
		('c', '{}', 'queued', '4713-01-01 BC', null)`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `set default_transaction_read_only = on`); err != nil {
		t.Fatal(err)
	}
	s, err := jobs.Look(t.Context(), db, "ebb", 5)
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != 1 || time.Since(s.At).Abs() > time.Minute || len(s.Runs) != 0 || len(s.Queues) != 3 {
		t.Fatalf("%+v", s)
	}
	a, b, c := s.Queues[0], s.Queues[1], s.Queues[2]
	if a.Name != "a" || a.Due != 1 || a.Scheduled != 1 || a.Running != 1 || a.Expired != 1 || a.Done != 0 || a.Failed != 1 {
		t.Errorf("%+v", a)
	}
	if a.OldestDue == nil || *a.OldestDue < 90*time.Second || *a.OldestDue > 10*time.Minute {
		t.Errorf("the oldest is due for %v", a.OldestDue)
	}
	if b.Due != 1 || b.Scheduled != 1 || b.OldestDue != nil || b.OldestDueAt == nil || *b.OldestDueAt != "-infinity" {
		t.Errorf("%+v", b)
	}
	if c.OldestDue == nil || *c.OldestDue < 280*365*24*time.Hour {
		t.Errorf("%+v", c)
	}
}
