package jobs_test

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain/jobs"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestHistory(t *testing.T) {
	db := schematest.Connect(t, schematest.New(t))
	if _, err := db.Exec(t.Context(), `insert into ebb.jobs_runs (id, started_at, connect_ms, run_ms) values
		('a', '2026-01-01 00:00Z', 1000, 31000), ('c', '2026-01-01 02:00Z', null, null), ('b', '2026-01-01 01:00Z', 0, 5)`); err != nil {
		t.Fatal(err)
	}
	runs, version, oldest, err := jobs.History(t.Context(), db, "ebb", 10)
	if err != nil || version != 1 || oldest != 1 || len(runs) != 3 {
		t.Fatalf("%+v, %d, %v", runs, version, err)
	}
	if r := runs[0]; r.StartedAt.UTC().Hour() != 0 || *r.Connect != time.Second || *r.Took != 31*time.Second {
		t.Errorf("%+v", r)
	}
	if r := runs[2]; r.StartedAt.UTC().Hour() != 2 || r.Connect != nil || r.Took != nil {
		t.Errorf("%+v", r)
	}
	if runs, _, _, err := jobs.History(t.Context(), db, "ebb", 1); err != nil || len(runs) != 1 || runs[0].StartedAt.UTC().Hour() != 2 {
		t.Errorf("%+v, %v", runs, err)
	}
}
