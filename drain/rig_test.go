package drain_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A rig is a migrated database, a session to look into it with, and what the handlers of a test saw. The URL is the way
// that ebb takes: through the pooler that TEST_POOLER names, where there is one. The session goes past it.
type rig struct {
	*testing.T
	url string
	db  *pgx.Conn

	mu   sync.Mutex
	seen []drain.Job
}

func newRig(t *testing.T) *rig {
	test, _, _ := strings.Cut(t.Name(), "/")
	if why := unpooled[test]; why != "" && schematest.IsPooled() {
		t.Skip("NOT TESTED THROUGH THE POOLER: " + why)
	}
	url := schematest.New(t)
	return &rig{T: t, url: url, db: schematest.Connect(t, url)}
}

// database gives what a Config wants for a URL.
func database(url string) func() (*pgx.ConnConfig, error) {
	return func() (*pgx.ConnConfig, error) { return pgx.ParseConfig(url) }
}

// note remembers a job that a handler saw.
func (r *rig) note(job drain.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, job)
}

// ids are the jobs seen, in the order in which they were started.
func (r *rig) ids() (ids []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.seen {
		ids = append(ids, j.ID)
	}
	return ids
}

// config drains queue default with a handler that notes each job and then answers as answer does; nil answers nil.
func (r *rig) config(answer drain.Handler) drain.Config {
	return drain.Config{
		Database: database(r.url),
		Log:      slog.New(slog.NewTextHandler(r.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
		Queues: []drain.Queue{{Name: "default", Handler: func(ctx context.Context, job drain.Job) error {
			r.note(job)
			if answer == nil {
				return nil
			}
			return answer(ctx, job)
		}}},
	}
}

// run is a run that has to end as intended, and in time.
func (r *rig) run(config drain.Config) drain.Report {
	r.Helper()
	return r.background(context.Background(), config)()
}

// background starts a run, and gives what waits for it to end as intended.
func (r *rig) background(ctx context.Context, config drain.Config) func() drain.Report {
	wait := r.begin(ctx, config)
	return func() drain.Report {
		r.Helper()
		report, err := wait()
		if err != nil {
			r.Fatalf("the run failed: %v", err)
		}
		return report
	}
}

// try is a run that may fail.
func (r *rig) try(ctx context.Context, config drain.Config) (drain.Report, error) {
	r.Helper()
	return r.begin(ctx, config)()
}

func (r *rig) begin(ctx context.Context, config drain.Config) func() (drain.Report, error) {
	type result struct {
		report drain.Report
		err    error
	}
	done := make(chan result, 1)
	go func() {
		report, err := drain.Run(ctx, config)
		done <- result{report, err}
	}()
	return func() (drain.Report, error) {
		r.Helper()
		select {
		case res := <-done:
			checkSum(r.T, res.report)
			return res.report, res.err
		case <-time.After(3 * time.Minute): // printing 200 MB of \u0001 took one, on a busy machine
			r.Fatal("the run does not end")
			panic("unreachable")
		}
	}
}

// checkSum holds the report to its own promise.
func checkSum(t *testing.T, p drain.Report) {
	t.Helper()
	if sum := p.Done + p.Retried + p.Failed + p.Released + p.Lost + p.Abandoned; sum != p.Claimed {
		t.Errorf("claimed %d, but done + retried + failed + released + lost + abandoned = %d: %+v", p.Claimed, sum, p)
	}
}

func (r *rig) exec(sql string, args ...any) {
	r.Helper()
	if _, err := r.db.Exec(context.Background(), sql, args...); err != nil {
		r.Fatalf("%s: %v", sql, err)
	}
}

// rows gives the rows of a query as text, one string a row.
func (r *rig) rows(sql string, args ...any) []string {
	r.Helper()
	rows, err := r.db.Query(context.Background(), "select row(q.*)::text from ("+sql+") q", args...)
	if err != nil {
		r.Fatalf("%s: %v", sql, err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.Fatalf("%s: %v", sql, err)
	}
	return texts
}

// want compares the rows of a query with what they should be.
func (r *rig) want(sql string, want ...string) {
	r.Helper()
	if got := r.rows(sql); !slices.Equal(got, want) {
		r.Errorf("%s:\n got %q\nwant %q", sql, got, want)
	}
}

// wait waits until a query that gives one boolean gives true.
func (r *rig) wait(db *pgx.Conn, sql string, args ...any) {
	r.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var is bool
		if err := db.QueryRow(context.Background(), sql, args...).Scan(&is); err != nil {
			r.Fatalf("%s: %v", sql, err)
		}
		if is {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("waited in vain for %s", sql)
		}
		time.Sleep(5 * time.Millisecond) // between two looks at what cannot be waited for
	}
}

// role makes a login role that may work on the tables and has the settings given, and the URL to connect as it: past
// the pooler, whose roles are its own.
func (r *rig) role(settings ...string) string {
	r.Helper()
	config, err := pgx.ParseConfig(r.url)
	if err != nil {
		r.Fatal(err)
	}
	name := "r" + config.Database
	r.exec("create role " + name + " login superuser password 'drainer'")
	r.Cleanup(func() { // after the database is gone with all that depends on the role
		admin, err := pgx.Connect(context.Background(), schematest.Server(r.T))
		if err == nil {
			defer admin.Close(context.Background())
			_, err = admin.Exec(context.Background(), "drop role if exists "+name)
		}
		if err != nil {
			r.Logf("role %s is left behind: %v", name, err)
		}
	})
	for _, s := range settings {
		r.exec("alter role " + name + " set " + s)
	}
	return withUser(r.T, schematest.Direct(r.url), name, "drainer")
}

func roleOf(t *testing.T, url string) string {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return config.User
}
