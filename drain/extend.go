package drain

import (
	"cmp"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed extend.sql
var extendStatement statement

// A holding is a lease to be extended.
type holding struct {
	id      int64
	attempt int
	lease   time.Duration // from now
}

// A standing is the answer to an extension of one job.
type standing int

const (
	extended standing = iota + 1
	locked            // somebody else has the row locked: ask again
	refused           // the row cannot be changed: ask again later
	done              // completed by this attempt, in the handler's own transaction
	gone              // another run's, or settled by a hand: the handler has nothing to say any more
)

// extendAt is when a task's lease wants to be extended: before half of it is gone where the handler works for longer or
// was abandoned, late where the task only waits, and never where the lease covers all that the handler may take.
func (s *state) extendAt(t *task) time.Time {
	var at time.Time
	switch {
	case t.leaseLost:
		return never
	case t.abandoned:
		at = t.leased.Add(t.lease * 4 / 10)
	case t.started.IsZero():
		at = t.leased.Add(t.lease * 3 / 4)
	case !t.leaseEnd().Before(t.started.Add(t.queue.Timeout + s.config.Grace)):
		return never
	default:
		at = t.leased.Add(t.lease * 4 / 10)
	}
	return later(at, t.askAt)
}

// extensions are the leases that an exchange now extends: those that want it before long, and those of starved tasks,
// which could start but for their lease.
func (s *state) extensions(now time.Time, starved []*task) (leases []holding) {
	hungry := map[*task]bool{}
	for _, t := range starved {
		hungry[t] = !now.Before(t.askAt)
	}
	for _, t := range s.live() {
		if hungry[t] || !s.extendAt(t).After(now.Add(t.lease/4)) {
			leases = append(leases, holding{t.job.ID, t.job.Attempt, s.config.lease(&t.queue.Queue)})
		}
	}
	return leases
}

// takeExtended moves the ends of leases, and ends the handlers of jobs that are another run's by now.
func (w *wake) takeExtended(resp *response) {
	if len(resp.extended) == 0 {
		return
	}
	for _, t := range w.live() {
		switch resp.extended[t.job.ID] {
		case extended:
			t.leased, t.lease = cmp.Or(resp.extendedFrom, resp.sent), w.config.lease(&t.queue.Queue)
			if t.expiry != nil {
				t.expiry.Reset(time.Until(t.leaseEnd()))
			}
		case locked, done:
			t.askAt = time.Now().Add(askAgain)
		case refused:
			t.askAt = time.Now().Add(max(askAgain, t.lease/4))
		case gone:
			if t.started.IsZero() {
				w.dropWaiting(t)
				w.lose(t)
				continue
			}
			t.leaseLost = true
			t.cancel(ErrLeaseLost)
		}
	}
}

func (b *batch) extend(run string, holdings []holding, to *response) {
	n := len(holdings)
	ids, attempts, leases := make([]int64, n), make([]int, n), make([]int64, n)
	for i, h := range holdings {
		ids[i], attempts[i], leases[i] = h.id, h.attempt, h.lease.Microseconds()
	}
	b.queue(extendStatement, pgx.StrictNamedArgs{"run": run, "ids": ids, "attempts": attempts, "leases": leases}).
		Query(func(rows pgx.Rows) error {
			to.extended = make(map[int64]standing, n)
			return to.readChanged(rows, func(id int64) { to.extended[id] = extended })
		})
}

// stands says how a lease stands that an exchange did not extend.
func (h holding) stands(r row, run string) standing {
	ours := r.lockedBy == run && r.attempts == h.attempt
	switch {
	case ours && r.status == "running":
		return locked
	case ours && r.status == "done":
		return done
	}
	return gone
}
