package jobs

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed history.sql
var historyStatement string

// A Ran is when a run began, by the database's clock, and how long it took.
type Ran struct {
	StartedAt time.Time
	// Connect is how long it took to be connected, a resume included, and Took the whole run with it; nil where that was
	// not recorded, as of a run that was killed.
	Connect, Took *time.Duration
}

// History gives the last runs, no more than so many, in their order, and the schema's version and the oldest that it works for, in one exchange.
func History(ctx context.Context, conn *pgx.Conn, schema string, most int) (runs []Ran, version, oldest int, err error) {
	in := func(sql string) string {
		return strings.ReplaceAll(sql, "{schema}", pgx.Identifier{schema}.Sanitize())
	}
	var b pgx.Batch
	b.Queue(limits)
	b.Queue(pathStatement).QueryRow(trusted)
	b.Queue(in(`select version, oldest from {schema}.jobs_version`)).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&version, &oldest); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil
	})
	b.Queue(in(historyStatement), pgx.StrictNamedArgs{"most": most}).Query(func(rows pgx.Rows) (err error) {
		runs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Ran, error) {
			var r Ran
			var connect, took *int64
			err := row.Scan(&r.StartedAt, &connect, &took)
			r.Connect, r.Took = milliseconds(connect), milliseconds(took)
			return r, err
		})
		return err
	})
	err = conn.SendBatch(ctx, &b).Close()
	slices.Reverse(runs)
	return runs, version, oldest, err
}

func milliseconds(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := time.Duration(*ms) * time.Millisecond
	return &d
}
