package drain

import (
	"context"
	"slices"
	"time"
)

// A work is one job in hand: claimed and not yet settled.
type work struct {
	job   Job
	queue *queue
	alone bool // nothing else may be in hand

	leased  time.Time     // when the exchange that last confirmed the lease was sent
	lease   time.Duration // from then
	askAt   time.Time     // a locked row: not extended or settled before
	starved bool          // it could start, but for its lease

	started time.Time
	cancel  context.CancelCauseFunc
	expiry  *time.Timer // cancels the handler where the lease ends unconfirmed
	leaveAt time.Time   // it is overdue, and abandoned then
	gone    bool        // its lease is lost: nothing is asked for it any more
	left    bool        // abandoned: whatever its handler returns comes too late

	ended      time.Time
	cause      error // why its context had ended by then
	settlement settlement
}

func (w *work) leaseEnd() time.Time { return w.leased.Add(w.lease) }

// A queue is a configured queue and what this run learned about it.
type queue struct {
	Queue
	suspended  bool
	wrong      int64 // the job whose handler said last that it is misconfigured; 0: the last one did not
	since      place // the last one claimed
	running    int
	waiting    int
	doesNotFit bool // its jobs could not end within the budget any more
}

// A hand is what a run holds, and the decisions that follow from it. It does nothing by itself: no clock, no database,
// no goroutine.
type hand struct {
	config Config
	end    time.Time // of the budget
	queues []*queue

	waiting  []*work // claimed, in order
	running  []*work
	finished []*work // to be settled, oldest first
	settling []*work // in the exchange that is under way

	slots int     // handlers at once; an abandoned one keeps its slot
	kept  []int64 // ids out of hand whose rows may still run under this run's id: abandoned, or the lease lost
	skip  []int64 // ids that this run released, left out of its claims

	// Jobs that run alone. first is the database's time at the first claim, half is when half of the budget is spent; aloneAt is when
	// they are looked for again although others are due; aloneDue says that there is one, othersTurn that the others come
	// before it.
	first, half, aloneAt            time.Time
	pastFirst, aloneDue, othersTurn bool

	claimed   int
	exhausted bool          // the last claim got less than it asked for, and nothing was settled since
	empty     bool          // a claim with nothing in hand got nothing
	took      time.Duration // the last exchange
	pace      time.Duration // the slowest of the handlers that the last exchange settled
	noMore    string        // why nothing more is claimed, though the run goes on with what it has
	stop      stop
	reopened  bool // an exchange was made since the stop began
}

func newHand(config Config, end time.Time) *hand {
	h := &hand{config: config, end: end, slots: config.Concurrency, half: config.Started.Add(config.MaxRuntime / 2)}
	for _, q := range config.Queues {
		h.queues = append(h.queues, &queue{Queue: q})
	}
	return h
}

func (h *hand) queue(name string) *queue {
	i := slices.IndexFunc(h.queues, func(q *queue) bool { return q.Name == name })
	return h.queues[i]
}

// fits says whether a job of this queue, started now, would end in time.
func (h *hand) fits(q *queue, now time.Time) bool {
	return !now.Add(q.Timeout + h.config.Grace).After(h.end)
}

// holds says whether anything is in hand.
func (h *hand) holds() bool {
	return len(h.waiting)+len(h.running)+len(h.finished)+len(h.settling) > 0
}

// ids are all jobs that run under this run's id and for a reason.
func (h *hand) ids() []int64 {
	ids := slices.Clone(h.kept)
	for _, list := range [][]*work{h.waiting, h.running, h.finished, h.settling} {
		for _, w := range list {
			ids = append(ids, w.job.ID)
		}
	}
	return ids
}

// letGo moves waiting jobs that this run will not start to those to be settled: all of them once it stops, those of a
// suspended queue, and those that could not end in time any more.
func (h *hand) letGo(now time.Time) {
	h.waiting = slices.DeleteFunc(h.waiting, func(w *work) bool {
		if !h.stop.begun() && h.slots > 0 && !w.queue.suspended && h.fits(w.queue, now) {
			return false
		}
		w.queue.waiting--
		w.ended, w.settlement = now, unstarted(w.job)
		h.finished = append(h.finished, w)
		return true
	})
}

// startable takes the first waiting job that a slot is free for out of those that wait, or gives nil. A job whose lease
// does not cover what it may take is passed over and marked.
func (h *hand) startable(now time.Time) *work {
	if h.stop.begun() || len(h.running) >= h.slots || slices.ContainsFunc(h.running, (*work).isAlone) {
		return nil
	}
	for i, w := range h.waiting {
		if w.queue.running >= w.queue.Concurrency || w.alone && len(h.running) > 0 {
			continue
		}
		if w.starved = w.leaseEnd().Sub(now) < h.config.covers(&w.queue.Queue); w.starved {
			continue
		}
		h.waiting = slices.Delete(h.waiting, i, i+1)
		h.running = append(h.running, w)
		w.queue.waiting--
		w.queue.running++
		w.started = now
		return w
	}
	return nil
}

func (w *work) isAlone() bool { return w.alone }

// finish takes a job from those that run to those to be settled.
func (h *hand) finish(w *work, now time.Time, s settlement) {
	h.leave(w)
	w.ended, w.settlement = now, s
	h.finished = append(h.finished, w)
}

// leave takes a job out of those that run.
func (h *hand) leave(w *work) {
	h.running = slices.DeleteFunc(h.running, func(r *work) bool { return r == w })
	w.queue.running--
}

// leaveAt is when a job that runs is abandoned: the grace after its context ended.
func (h *hand) leaveAt(w *work) time.Time {
	at := w.started.Add(w.queue.Timeout + h.config.Grace)
	if end := w.leaseEnd().Add(h.config.Grace); end.Before(at) {
		at = end
	}
	if h.stop.begun() && h.stop.leaveAt.Before(at) {
		at = h.stop.leaveAt
	}
	return at
}
