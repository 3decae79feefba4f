package drain_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// database gives what a Config wants for a URL.
func database(url string) func() (*pgx.ConnConfig, error) {
	return func() (*pgx.ConnConfig, error) { return pgx.ParseConfig(url) }
}

func TestRunDrainsEverythingOnce(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	exec(t, db, `insert into ebb.jobs (payload) select jsonb_build_object('n', n) from generate_series(1, 1000) n`)
	var mu sync.Mutex
	seen := map[int64]int{}
	report, err := drain.Run(t.Context(), drain.Config{
		Database: database(url),
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Queues: []drain.Queue{{Name: "default", Handler: func(_ context.Context, job drain.Job) error {
			mu.Lock()
			defer mu.Unlock()
			seen[job.ID]++
			return nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%+v\n", report)
	if report.Stopped != drain.StoppedEmpty || report.Done != 1000 || len(seen) != 1000 {
		t.Errorf("report %+v, %d jobs handled", report, len(seen))
	}
	if most := 102; report.Exchanges > most {
		t.Errorf("%d exchanges, want at most %d", report.Exchanges, most)
	}
}

func exec(t *testing.T, db *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := db.Exec(ctx, sql, args...); err != nil {
		t.Fatal(err)
	}
}
