package jobs

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed status.sql
var statusStatement string

//go:embed runs.sql
var runsStatement string

//go:embed path.sql
var pathStatement string

// limits keep a look at the queues from waiting for a lock, or from reading for ever.
const limits = `select pg_catalog.set_config('lock_timeout', '3s', true), pg_catalog.set_config('statement_timeout', '30s', true)`

// A Status is what is in the queues, and the last runs.
type Status struct {
	At      time.Time // by the database's clock
	Version int       // of the schema
	Oldest  int       // version that programs may be written for
	Queues  []Queue   // those with jobs; of more than 1,000 those that have been there longest
	More    int       // how many others there are
	Runs    []Run     // the latest first
	Horizon Horizon
	Skew    Skew
}

// mostQueues bounds the answer: whoever may insert may make any number of queues.
const mostQueues = 1000

// A Queue is the number of a queue's jobs in each state, every job in one of them. Expired jobs are running ones whose
// lease ran out: the next run takes them back.
type Queue struct {
	Name                                           string
	Due, Scheduled, Running, Expired, Done, Failed int64
	// OldestDueAt is RFC 3339 in UTC, with BC after it where that is so, or -infinity; nil where nothing is due.
	OldestDueAt *string
	// OldestDue is how long the oldest due job has been due; nil where nothing is, or since ever.
	OldestDue *time.Duration
}

// A Run is what a run recorded of itself.
type Run struct {
	ID, Host, Version                                                 string
	StartedAt                                                         time.Time
	FinishedAt                                                        *time.Time
	Stopped, Error                                                    string
	Claimed, Done, Retried, Failed, Released, Lost, Abandoned, Reaped int64
	Took                                                              *time.Duration
}

// Look gives the status, with no more than so many runs, in one exchange.
func Look(ctx context.Context, conn *pgx.Conn, schema string, runs int) (Status, error) {
	in := func(sql string) string {
		return strings.ReplaceAll(sql, "{schema}", pgx.Identifier{schema}.Sanitize())
	}
	var s Status
	var b pgx.Batch
	var first, last time.Time
	b.Queue(clock).QueryRow(func(row pgx.Row) error { return row.Scan(&first) })
	b.Queue(limits)
	b.Queue(pathStatement).QueryRow(trusted)
	b.Queue(in(`select version, oldest, pg_catalog.now() from {schema}.jobs_version`)).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&s.Version, &s.Oldest, &s.At); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil
	})
	b.Queue(in(statusStatement), pgx.StrictNamedArgs{"most": mostQueues}).Query(func(rows pgx.Rows) (err error) {
		s.Queues, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Queue, error) { return scanQueue(row, &s.More) })
		s.More -= len(s.Queues)
		return err
	})
	b.Queue(in(runsStatement), pgx.StrictNamedArgs{"most": runs}).Query(func(rows pgx.Rows) (err error) {
		s.Runs, err = pgx.CollectRows(rows, scanRun)
		return err
	})
	b.Queue(horizonStatement, pgx.StrictNamedArgs{"schema": schema}).QueryRow(func(row pgx.Row) (err error) {
		s.Horizon, err = scanHorizon(row)
		return err
	})
	b.Queue(clock).QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	sent := time.Now()
	err := conn.SendBatch(ctx, &b).Close()
	s.Skew = skew(sent, first, last, time.Now())
	return s, err
}

// trusted reads the answer to path.sql.
func trusted(row pgx.Row) error {
	err := row.Scan(nil)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "22012" { // division_by_zero
		return errors.New("others may create functions in a schema that the search_path names before pg_catalog, and they would be called in place of Postgres' own; leave pg_catalog out of it, so that it comes first: ALTER ROLE ... SET search_path = public, for example")
	}
	return err
}

func scanQueue(row pgx.CollectableRow, all *int) (Queue, error) {
	var q Queue
	var seconds *float64
	err := row.Scan(&q.Name, &q.Due, &q.Scheduled, &q.Running, &q.Expired, &q.Done, &q.Failed, &q.OldestDueAt, &seconds, all)
	if seconds != nil {
		// A duration ends at 292 years, a date in Postgres does not.
		d := time.Duration(min(*seconds, 9e9)) * time.Second
		if *seconds < 9e9 {
			d = time.Duration(*seconds * float64(time.Second))
		}
		q.OldestDue = &d
	}
	return q, err
}

func scanRun(row pgx.CollectableRow) (Run, error) {
	var r Run
	var ms *int64
	err := row.Scan(&r.ID, &r.Host, &r.Version, &r.StartedAt, &r.FinishedAt, &r.Stopped, &r.Error,
		&r.Claimed, &r.Done, &r.Retried, &r.Failed, &r.Released, &r.Lost, &r.Abandoned, &r.Reaped, &ms)
	if ms != nil {
		d := time.Duration(*ms) * time.Millisecond
		r.Took = &d
	}
	return r, err
}
