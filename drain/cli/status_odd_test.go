package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// Times that only a hand makes, before the year 1, after the year 9999 or infinite, keep nobody from the status.
func TestStatusWithOddTimes(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs_runs (id, started_at, finished_at) values ('a', 'infinity', 'infinity'), ('b', '-infinity', '-infinity'), ('c', '0044-03-15 BC', '0044-03-15 BC'),
		('d', '294276-01-01', null), ('e', '2026-01-01', 'infinity'), ('f', '2026-01-02', '2026-01-03')`)
	do(t, db, `insert into ebb.jobs (queue, payload, run_at) values ('caesar', '1', '0044-03-15 12:00Z BC'), ('old', '1', '0044-03-15 12:00Z'), ('ever', '1', '-infinity'), ('never', '1', 'infinity'), ('far', '1', '294276-12-31')`)
	s := setup{env: map[string]string{"DATABASE_URL": url}}
	var status statusJSON
	i := s.ebb("status", "--json")
	if err := json.Unmarshal([]byte(i.stdout), &status); i.status != 0 || err != nil {
		t.Fatalf("%d, %v\n%s%s", i.status, err, i.stdout, i.stderr)
	}
	if len(status.Runs) != 2 || status.Runs[0].Run != "f" || status.Runs[1].Run != "e" || status.Runs[1].FinishedAt != nil {
		t.Errorf("%+v", status.Runs)
	}
	at := map[string]string{}
	for _, q := range status.Queues {
		if q.OldestAt != nil {
			at[q.Queue] = *q.OldestAt
		}
	}
	if len(at) != 3 || at["caesar"] != "0044-03-15T12:00:00.000000Z BC" || at["old"] != "0044-03-15T12:00:00.000000Z" || at["ever"] != "-infinity" {
		t.Errorf("%v", at)
	}
	if i := s.ebb("status"); i.status != 0 || !strings.Contains(i.stdout, "caesar") {
		t.Errorf("%d\n%s%s", i.status, i.stdout, i.stderr)
	}
}
