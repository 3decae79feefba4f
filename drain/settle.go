package drain

import (
	"cmp"
	_ "embed"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed settle.sql
var settleStatement statement

const (
	// unsettled is the longest that a finished job waits to be settled while others of its batch still wait to start.
	unsettled = 500 * time.Millisecond
	// fast is the longest that a handler takes and is called fast.
	fast = 50 * time.Millisecond
	// askAgain is when a row that was locked is asked for again.
	askAgain = time.Second
)

// An outcome is the field of the report in which a claimed job ends up.
type outcome int

const (
	completed outcome = iota + 1
	retried
	failed
	released
	lost
	abandoned
	stuck        // the row is locked by somebody: to be settled again
	unsettleable // the row cannot be written; its lease decides
)

// settleAt is when what is finished wants to be settled: at once where nobody else can end any more. With a slot idle it
// waits no longer than the last exchange took, or, where handlers are fast, twice as long as the slowest of the last
// ones: what was claimed together ends about together then, commands on few cores a little apart, and is settled in one
// exchange.
func (s *state) settleAt(now time.Time, idle bool) time.Time {
	if len(s.running) == 0 || s.unstarted || len(s.finished) == 0 {
		return now
	}
	oldest := s.finished[0].ended
	if !idle {
		return oldest.Add(unsettled)
	}
	wait := s.took
	if pace := max(s.pace, s.slowest); pace <= fast {
		wait = max(wait, 2*pace)
	}
	return oldest.Add(wait)
}

// ready are the tasks that can be settled now, in the order of their ids.
func (s *state) ready(now time.Time) []*task {
	ready := slices.Clone(s.finished)
	for _, t := range s.locked {
		if !now.Before(t.askAt) {
			ready = append(ready, t)
		}
	}
	slices.SortFunc(ready, func(a, b *task) int { return cmp.Compare(a.job.ID, b.job.ID) })
	return ready
}

// stillLocked counts the finished tasks whose rows are not to be asked for yet.
func (s *state) stillLocked(now time.Time) (n int) {
	for _, t := range s.locked {
		n += count(now.Before(t.askAt))
	}
	return n
}

// takeSettled books what an exchange settled. What it does not answer for is settled again.
func (w *wake) takeSettled(asked []*task, resp *response) {
	now, settled := time.Now(), false
	for _, t := range asked {
		open := now.Before(t.leaseEnd())
		switch o := resp.settled[t.job.ID]; {
		case o == stuck && open:
			t.askAt = now.Add(askAgain)
			w.locked = append(w.locked, t)
		case o == 0 && isTableLock(resp.err) && !open:
			w.late = append(w.late, t)
		case o == 0:
			w.settleSoon(t)
		default:
			settled = true
			w.count(t, o)
		}
	}
	if settled && resp.err == nil {
		w.short, w.empty, w.pace = false, false, 0
	}
	for _, t := range asked {
		if !t.started.IsZero() && resp.err == nil {
			w.pace = max(w.pace, t.ended.Sub(t.started))
		}
	}
}

// count books a task that is settled, and says so where somebody should know.
func (w *wake) count(t *task, o outcome) {
	r, s := &w.report, t.settlement
	log := w.config.Log.With("queue", t.queue.Name, "id", t.job.ID, "attempt", t.job.Attempt)
	switch o {
	case completed:
		r.Done++
		log.Debug("done", "took", t.ended.Sub(t.started).String())
	case retried:
		r.Retried++
		level := slog.LevelWarn
		if s.foreseen {
			level = slog.LevelInfo
		}
		log.Log(w.outer, level, "failed attempt, retried later", "after", s.delay.String(), "error", s.text)
	case failed:
		r.Failed++
		r.FailedForGood++
		log.Error("failed for good", "error", s.text)
	case released:
		r.Released++
		w.skip = append(w.skip, t.job.ID)
		if s.text == "" {
			log.Debug("released: not started")
		} else {
			log.Warn("given back", "error", s.text)
		}
	case lost, stuck:
		w.lose(t)
	case unsettleable: // which was logged where it was found out
		r.Lost++
		w.lost = append(w.lost, t.job.ID)
	}
}

// lose counts a task of which another run may be the owner by now.
func (w *wake) lose(t *task) {
	w.report.Lost++
	w.lost = append(w.lost, t.job.ID)
	w.config.Log.Warn("the lease on the job is lost: nothing is written for it", "queue", t.queue.Name, "id", t.job.ID, "attempt", t.job.Attempt)
}

func (b *batch) settle(run string, tasks []*task, to *response) {
	n := len(tasks)
	ids, attempts, given, lost := make([]int64, n), make([]int, n), make([]int, n), make([]int, n)
	statuses, delays, texts := make([]string, n), make([]*int64, n), make([]*string, n)
	outcomes := make(map[int64]outcome, n)
	for i, t := range tasks {
		s := &t.settlement
		ids[i], attempts[i], statuses[i] = s.id, s.attempt, s.status
		given[i], lost[i] = s.given(), s.adds()
		if s.delay >= 0 {
			micros := s.delay.Microseconds()
			delays[i] = &micros
		}
		if s.text != "" {
			texts[i] = &s.text
		}
		outcomes[s.id] = s.counts
	}
	b.queue(settleStatement, pgx.StrictNamedArgs{
		"run": run, "ids": ids, "attempts": attempts, "statuses": statuses, "given_back": given, "lost": lost,
		"delays": delays, "texts": texts,
	}).Query(func(rows pgx.Rows) error {
		to.settled = make(map[int64]outcome, n)
		return to.readChanged(rows, func(id int64) { to.settled[id] = outcomes[id] })
	})
}

// became says what a settlement came to that the exchange did not confirm, by how the row stands now: written after all
// by a try whose answer was lost, completed in the handler's own transaction, or no longer this run's to settle.
func (s settlement) became(r row, run string) outcome {
	ours := r.lockedBy == run && r.status != "running"
	switch {
	case r.lockedBy == run && r.status == "running" && r.attempts == s.attempt:
		return stuck
	case ours && r.status == "done" && r.attempts == s.attempt:
		return completed
	case ours && r.status == s.status && r.attempts == s.attempt-s.given() && r.lost == s.lost+s.adds():
		return s.counts
	}
	return lost
}

func (s settlement) given() int { return count(s.giveBack) }
func (s settlement) adds() int  { return count(s.addLost) }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
