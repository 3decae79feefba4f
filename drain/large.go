package drain

import (
	_ "embed"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed read.sql
var readStatement statement

// A payload that prints larger than [maxPayloads] is claimed alone and read in the exchange after, so that a worker that
// dies of it has spent one of the job's attempts. One at a time is in flight.

func (s *state) holdsLarge() bool {
	return slices.ContainsFunc(s.live(), func(t *task) bool { return t.unread || len(t.job.Payload) > maxPayloads })
}

// takeRead takes a payload in. A job that is no longer this run's is lost.
func (w *wake) takeRead(t *task, resp *response) {
	if t == nil || w.unread != t { // its extension in the same exchange found it lost
		return
	}
	switch {
	case resp.payload != nil:
		t.job.Payload, t.unread, w.unread = resp.payload, false, nil
	case slices.Contains(resp.skipped, t.job.ID): // it cannot be read: what cannot be read cannot be claimed either
		w.dropWaiting(t)
		w.finish(t, resp.sent, unstarted(t.job))
	default:
		w.dropWaiting(t)
		w.lose(t)
	}
}

func (b *batch) read(run string, t *task, to *[]byte) {
	b.queue(readStatement, pgx.StrictNamedArgs{"id": t.job.ID, "attempt": t.job.Attempt, "run": run}).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := rows.Scan(to); err != nil {
					return err
				}
			}
			return rows.Err()
		})
}
