package drain

import (
	"slices"
	"time"
)

// overdueAt is when a handler should have returned: the grace after its context ended.
func (s *state) overdueAt(t *task) time.Time {
	at := earlier(t.started.Add(t.queue.Timeout+s.config.Grace), t.leaseEnd().Add(s.config.Grace))
	if s.stop.begun() {
		at = earlier(at, s.stop.leaveAt)
	}
	return at
}

// overdue gives a handler one more moment, for a process that was frozen finds every time passed at once; then it is
// abandoned.
func (w *wake) overdue(t *task, now time.Time) {
	if t.leaveAt.IsZero() {
		t.leaveAt = now.Add(shrink(leaveBefore, w.config.Grace) / 2)
		return
	}
	w.abandon(t)
}

// abandon goes on without a task whose handler did not return. Its lease is extended for as long as the run lasts, so that
// no second copy is started beside it.
func (w *wake) abandon(t *task) {
	t.abandoned = true
	w.leave(t)
	w.abandoned = append(w.abandoned, t)
	w.report.Abandoned = len(w.abandoned)
	if w.slots() == 0 {
		w.failed, w.err = true, ErrAbandoned
	}
	w.config.Log.Error("the handler did not return after its context ended: abandoned; its lease is extended while this run lasts, and decides then",
		"queue", t.queue.Name, "id", t.job.ID, "attempt", t.job.Attempt)
}

// returned takes in that a handler came back after all.
func (w *wake) returned(t *task) {
	w.abandoned = slices.DeleteFunc(w.abandoned, func(other *task) bool { return other == t })
	w.report.Abandoned = len(w.abandoned)
	w.config.Log.Warn("an abandoned handler returned after all", "queue", t.queue.Name, "id", t.job.ID, "attempt", t.job.Attempt)
}
