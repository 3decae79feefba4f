package drain

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// This file holds all concurrency of a run. One goroutine, that of Run, owns the hand and decides; every handler runs
// in a goroutine of its own, and so does the one exchange that may be under way. Both only send what they have to say.

// A wake is one run from its start to its end.
type wake struct {
	*hand
	outer  context.Context // Run's: it ends when the run shall stop
	run    string
	link   *link
	report Report
	err    error

	ended    chan handlerEnd
	answers  chan response
	over     chan struct{} // closed when the run no longer listens
	exchange *request      // under way, or nil

	handlers context.Context // of all handlers
	cancel   context.CancelCauseFunc
	hard     context.Context // of all exchanges: not covered by the signal, ends with the grace
	cut      context.CancelFunc

	cutShort  bool          // the end of the grace cut an exchange
	reap      bool          // leases that ran out may be left
	notBefore time.Time     // after an error: no exchange until then
	lingerTo  time.Time     // lingering until then, or zero
	lingered  time.Duration // so far
}

type handlerEnd struct {
	work *work
	err  error
}

// drain works until nothing is in hand and nothing more is to be had.
func (w *wake) drain() {
	defer close(w.over)
	signal := w.outer.Done()
	for {
		now := time.Now()
		at := w.advance(now)
		if w.exchange == nil {
			req, look := w.plan(now)
			at = earlier(at, look)
			switch {
			case w.isOver(now):
				return
			case req != nil && !now.Before(w.notBefore):
				w.send(req)
			case req != nil:
				at = earlier(at, w.notBefore)
			default:
				at = earlier(at, w.letLinkGo(now))
			}
		}
		timer := time.NewTimer(at.Sub(now))
		select {
		case end := <-w.ended:
			w.end(end)
			w.drainEnded()
		case resp := <-w.answers:
			w.answer(resp)
		case <-signal:
			signal = nil
			w.beginStop(w.signalled(), time.Now().Add(min(w.config.Grace, w.config.Notice)))
		case <-timer.C:
		}
		timer.Stop()
	}
}

// signalled is the reason of a stop for which Run's context ended.
func (w *wake) signalled() string {
	if errors.Is(w.outer.Err(), context.DeadlineExceeded) {
		return StoppedTime
	}
	return StoppedSignal
}

// drainEnded takes what else has ended meanwhile, so that it is settled together.
func (w *wake) drainEnded() {
	for {
		select {
		case end := <-w.ended:
			w.end(end)
		default:
			return
		}
	}
}

// advance does what the time alone decides, starts what may start, and says when time decides again.
func (w *wake) advance(now time.Time) (at time.Time) {
	at = never
	if budget := w.hand.end.Add(-w.config.Grace); !w.stop.begun() {
		if now.Before(budget) {
			at = budget
		} else {
			w.beginStop(StoppedTime, w.hand.end)
		}
	}
	switch {
	case !w.stop.begun():
	case now.Before(w.stop.cancelAt):
		at = earlier(at, w.stop.cancelAt)
	default:
		w.cancel(ErrStopped)
		if now.Before(w.stop.endAt) { // after it the answer of the last exchange is all that is waited for
			at = earlier(at, w.stop.endAt)
		}
	}
	if !w.lingerTo.IsZero() {
		if now.Before(w.lingerTo) {
			at = earlier(at, w.lingerTo)
		} else {
			w.lingerTo, w.empty, w.exhausted = time.Time{}, false, false
		}
	}
	for _, r := range slices.Clone(w.running) {
		switch leaveAt := w.leaveAt(r); {
		case now.Before(leaveAt):
			at = earlier(at, leaveAt)
		case r.leaveAt.IsZero():
			// A process that was frozen finds every time passed at once: the handler may be about to return.
			r.leaveAt = now.Add(shrink(leaveBefore, w.config.Grace) / 2)
			at = earlier(at, r.leaveAt)
		case now.Before(r.leaveAt):
			at = earlier(at, r.leaveAt)
		default:
			w.abandon(r)
		}
	}
	w.letGo(now)
	for start := w.startable(now); start != nil; start = w.startable(now) {
		w.launch(start)
	}
	return at
}

// beginStop ends the claiming. The first stop stands, and ends no later than the budget.
func (w *wake) beginStop(reason string, end time.Time) {
	if w.stop.begun() {
		return
	}
	end = earlier(end, w.hand.end)
	w.stop = stopBy(reason, end, min(w.config.Grace, time.Until(end)))
	w.config.Log.Info("stopping: nothing more is claimed", "reason", reason, "grace", time.Until(end).Round(time.Millisecond).String())
	time.AfterFunc(time.Until(end), w.cut)
}

// launch runs a handler under its timeout and its lease.
func (w *wake) launch(j *work) {
	ctx, cancel := context.WithCancelCause(w.handlers)
	ctx, stopTimer := context.WithTimeoutCause(ctx, j.queue.Timeout, timedOut{j.queue.Timeout})
	j.cancel = cancel
	j.expiry = time.AfterFunc(time.Until(j.leaseEnd()), func() { cancel(ErrLeaseLost) })
	j.job.completion = &completion{schema: w.config.Schema}
	go call(ctx, j.queue.Handler, j.job, func(err error) {
		j.cause = context.Cause(ctx)
		stopTimer()
		j.expiry.Stop()
		cancel(nil)
		select {
		case w.ended <- handlerEnd{j, err}:
		case <-w.over:
		}
	})
}

// end takes in what a handler came to.
func (w *wake) end(e handlerEnd) {
	j, now := e.work, time.Now()
	if j.left {
		w.config.Log.Warn("an abandoned handler returned after all; its job's lease decides", "queue", j.queue.Name, "id", j.job.ID)
		return
	}
	came := ending{e.err, j.cause}
	if j.job.completion.tried { // the row decides, so something is to be written whatever the handler says
		came.err = cmp.Or(came.err, errors.New("completion was not committed"))
		if errors.Is(came.cause, ErrLeaseLost) {
			came.cause = nil
		}
	}
	s := decide(j.job, &j.queue.Queue, w.config.MaxBackoff, came)
	w.learn(j, e.err)
	j.job.Payload = nil
	if s.counts == lost {
		w.lose(j)
		w.leave(j)
		return
	}
	w.finish(j, now, s)
}

// learn draws a queue's conclusions from its handler's answer.
func (w *wake) learn(j *work, err error) {
	q, v := j.queue, verdictOf(err)
	switch {
	case v != nil && v.kind == verdictSuspend:
		if !q.suspended {
			w.config.Log.Warn("the handler suspended its queue for this run", "queue", q.Name, "id", j.job.ID, "error", storable(errorText(v)))
		}
		q.suspended = true
		w.report.Suspended = with(w.report.Suspended, q.Name)
	case v != nil && v.kind == verdictMisconfigured:
		if q.wrong != 0 && q.wrong != j.job.ID && !q.suspended {
			q.suspended = true
			w.config.Log.Error("two jobs in a row say that the handler is misconfigured: the queue stops for this run", "queue", q.Name)
		}
		q.wrong = j.job.ID
		w.report.Misconfigured = with(w.report.Misconfigured, q.Name)
		return
	case v != nil && v.kind == verdictNotStarted:
		if !q.suspended {
			w.config.Log.Error("the handler could not be started: this queue stops for this run and its jobs are given back",
				"queue", q.Name, "id", j.job.ID, "error", storable(errorText(v)))
		}
		q.suspended = true
		w.report.Misconfigured = with(w.report.Misconfigured, q.Name)
	}
	q.wrong = 0
}

func with(names []string, name string) []string {
	if i, found := slices.BinarySearch(names, name); !found {
		return slices.Insert(slices.Clone(names), i, name) // a report that was handed out keeps its own
	}
	return names
}

// lose counts a job of which another run may be the owner by now.
func (w *wake) lose(j *work) {
	w.report.Lost++
	w.kept = append(w.kept, j.job.ID)
	w.config.Log.Warn("the lease on the job is lost: nothing is written for it", "queue", j.queue.Name, "id", j.job.ID, "attempt", j.job.Attempt)
}

// abandon gives up on a handler that ignores that its context ended.
func (w *wake) abandon(j *work) {
	j.left = true
	w.leave(j)
	w.slots--
	if w.slots == 0 {
		w.noMore, w.err = StoppedError, ErrAbandoned
	}
	w.kept = append(w.kept, j.job.ID)
	w.report.Abandoned++
	w.config.Log.Error("the handler did not return after its context ended: abandoned, its lease decides",
		"queue", j.queue.Name, "id", j.job.ID, "attempt", j.job.Attempt)
}

// send starts an exchange.
func (w *wake) send(req *request) {
	req.run = w.run
	req.reap = w.reap && req.claim != nil
	if req.claim != nil && req.claim.alone == elseAlone && w.lingered < w.config.Linger {
		for _, r := range req.claim.rooms {
			req.linger = append(req.linger, r.queue)
		}
	}
	connecting := w.outer // nothing is lost yet where nothing is in hand: the wait for a connection ends with the signal
	if w.holds() {
		connecting = w.hard
	}
	w.settling = slices.Clone(w.ready(time.Now()))
	w.finished = slices.Clone(w.finished[len(w.settling):])
	w.exchange = req
	w.reopened = w.stop.begun()
	go func() { w.answers <- w.link.exchange(w.hard, connecting, *req) }()
}

// letLinkGo closes a connection that nothing needed for a while, and says when it will want that.
func (w *wake) letLinkGo(now time.Time) time.Time {
	if w.link.conn == nil || w.stop.begun() {
		return never
	}
	if at := w.link.lastUsed.Add(letGo); now.Before(at) && w.lingerTo.IsZero() {
		return at
	}
	w.link.drop()
	return never
}

// isOver says whether the run has come to its end.
func (w *wake) isOver(now time.Time) bool {
	switch {
	case w.stop.begun() && !now.Before(w.stop.endAt):
		return true
	case w.holds():
		return false
	case w.stop.begun(), w.noMore != "":
		return true
	}
	return w.empty && w.lingerTo.IsZero()
}
