package drain_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A costs is what statements of a run read, in blocks, as the server explains each to the session that sent it.
type costs struct {
	mu     sync.Mutex
	blocks map[string][]int // by the kind of statement
}

// explained makes a database's sessions say what their statements read.
func (c *costs) explained(t *testing.T, url string) func() (*pgx.ConnConfig, error) {
	c.blocks = map[string][]int{}
	return func() (*pgx.ConnConfig, error) {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		for name, value := range map[string]string{
			"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on",
			"auto_explain.log_buffers": "on", "auto_explain.log_timing": "off", "auto_explain.log_format": "json", "client_min_messages": "log",
		} {
			config.RuntimeParams[name] = value
		}
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.note(t, n.Message) }
		return config, nil
	}
}

func (c *costs) note(t *testing.T, message string) {
	_, plan, found := strings.Cut(message, "plan:\n")
	if !found {
		return
	}
	var explained struct {
		Text string `json:"Query Text"`
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(plan), &explained); err != nil {
		t.Errorf("%v in %.300s", err, plan)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := "other"
	switch text := explained.Text; {
	case strings.Contains(text, "taken as ("):
		kind = "claim"
	case strings.Contains(text, "lost >= 2 or"):
		kind = "claim alone"
	case strings.Contains(text, "mine as materialized"):
		kind = "settle"
	}
	c.blocks[kind] = append(c.blocks[kind], explained.Plan.Hit+explained.Plan.Read)
}

func median(of []int) int {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// While somebody holds an old snapshot nothing that dies can be removed. A run leaves a dead entry for each job
// in the indexes that it claims from and settles by, and its last claims read no more than its first ones.
func TestOldSnapshot(t *testing.T) {
	r := newRig(t)
	const jobs = 100_000
	holder := schematest.Connect(t, r.url)
	for _, sql := range []string{`begin isolation level repeatable read`, `select 1`} {
		if _, err := holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, $1::int)`, jobs)
	var c costs
	config := r.config(nil)
	config.Queues[0].Handler = func(context.Context, drain.Job) error { return nil }
	config.Database, config.Batch, config.Concurrency = c.explained(t, r.url), 100, 100
	report, err := drain.Run(t.Context(), config)
	if err != nil || report.Done != jobs {
		t.Fatalf("%v: %+v", err, report)
	}
	for _, kind := range []string{"claim", "claim alone", "settle"} {
		of := c.blocks[kind]
		tenth := len(of) / 10
		if tenth < 10 {
			t.Fatalf("%s: only %d were seen", kind, len(of))
		}
		first, last := median(of[tenth:2*tenth]), median(of[9*tenth:])
		t.Logf("%s: %d blocks at first, %d at the end", kind, first, last)
		if last > first+first/4+20 { // an index that grows becomes a level higher
			t.Errorf("%s: read %d blocks at first, %d at the end", kind, first, last)
		}
	}
}

// And a run is no such holder itself: while a handler works its session has no transaction and no snapshot.
func TestHandlersHoldNoSnapshot(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	config := r.config(func(ctx context.Context, _ drain.Job) error {
		db, err := pgx.Connect(ctx, r.url)
		if err != nil {
			return err
		}
		defer db.Close(ctx)
		r.wait(db, `select exists (select from pg_stat_activity where datname = current_database() and application_name = 'ebb' and state = 'idle')
			and not exists (select from pg_stat_activity where datname = current_database() and application_name = 'ebb'
				and (xact_start is not null or backend_xmin is not null or backend_xid is not null or state <> 'idle'))`)
		return nil
	})
	config.Concurrency = 1
	if report := r.run(config); report.Done != 3 {
		t.Errorf("%+v", report)
	}
}

// What a claim of ten costs behind 100,000 entries that an old snapshot keeps, from the place that a run remembers: a run
// is one of 5,100 jobs, of which the last hundred are claimed with the memory.
func BenchmarkClaimBehindDeadEntries(b *testing.B) {
	url := schematest.New(b)
	db, holder := schematest.Connect(b, url), schematest.Connect(b, url)
	do := func(conn *pgx.Conn, sql string) {
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	do(holder, `begin isolation level repeatable read`)
	do(holder, `select 1`)
	do(db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 100000)`)
	do(db, `update ebb.jobs set status = 'done'`)
	for b.Loop() {
		do(db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 5100)`)
		config := drain.Config{Database: database(url), Queues: []drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error { return nil }}}}
		report, err := drain.Run(b.Context(), config)
		if err != nil || report.Done != 5100 {
			b.Fatalf("%v: %+v", err, report)
		}
		b.ReportMetric(float64(report.RunMS)/float64(report.Exchanges), "ms/exchange")
	}
}
