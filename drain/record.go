package drain

import (
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed record.sql
var recordStatement statement

// A record is the run's row in jobs_runs.
type record struct {
	report        Report
	host, version string
	queues        []string
}

// A left is what the run leaves behind.
type left struct {
	stopped                string
	due, unhandled, leased int
	others                 []string // queues with due jobs and no handler here, the first by name
	otherQueues            int      // all of them
	next                   *time.Time
}

func (b *batch) record(r record, to **left) {
	p := r.report
	b.queue(recordStatement, pgx.StrictNamedArgs{
		"queues": r.queues, "most": MostCounted, "run": p.Run, "host": r.host, "version": r.version,
		"stopped": p.Stopped, "error": p.Error, "claimed": p.Claimed, "done": p.Done, "retried": p.Retried,
		"failed": p.Failed, "released": p.Released, "lost": p.Lost, "abandoned": p.Abandoned, "reaped": p.Reaped,
		"pruned": p.Pruned, "vacuum": p.Vacuum, "suspended": p.Suspended, "misconfigured": p.Misconfigured,
		"connect_ms": p.ConnectMS, "run_ms": p.RunMS, "exchanges": p.Exchanges,
	}).QueryRow(func(row pgx.Row) error {
		var l left
		*to = &l
		err := row.Scan(&l.stopped, &l.due, &l.unhandled, &l.others, &l.otherQueues, &l.leased, &l.next)
		if l.next != nil {
			*l.next = l.next.UTC()
		}
		return err
	})
}
