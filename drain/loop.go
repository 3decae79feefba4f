package drain

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// This file holds all concurrency of a run. One goroutine, that of Run, owns the state and decides; every handler runs
// in a goroutine of its own, and so does the one exchange that may be under way. Both only send what they have to say.

// A wake is one run from its start to its end.
type wake struct {
	*state
	exchanger exchanger
	outer     context.Context // Run's: it ends when the run is to stop
	run       string
	report    Report
	reaped    map[int64]bool // the rows that the report counts as reaped
	err       error

	ended   chan handlerEnd
	answers chan response
	over    chan struct{}             // closed when the run no longer listens
	decided func(decision, time.Time) // sees every decision, in a simulation

	claiming   context.Context // of the wait for a connection where nothing is in flight: ends when the run is to stop
	endClaims  context.CancelFunc
	handlers   context.Context // of all handlers
	cancelAll  context.CancelCauseFunc
	exchanges  context.Context // of all exchanges: not covered by the signal, ends with the grace
	cutAll     context.CancelFunc
	cutCurrent context.CancelFunc
	cutShort   bool // an exchange was ended for want of time
}

type handlerEnd struct {
	task *task
	err  error
}

// drain works until nothing is in flight and nothing more is to be had. It gives the reason for which it stopped.
func (w *wake) drain() string {
	defer close(w.over)
	signal := w.outer.Done()
	for {
		now := time.Now()
		d := w.step(now)
		if w.decided != nil {
			w.decided(d, now)
		}
		if d.over != "" {
			return d.over
		}
		if !d.waits() {
			w.apply(d, now)
			continue
		}
		w.lookAt = d.lookAt
		timer := time.NewTimer(d.until.Sub(now))
		select {
		case end := <-w.ended:
			w.end(end)
			w.takeEnds()
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

// apply does what was decided.
func (w *wake) apply(d decision, now time.Time) {
	switch {
	case d.stop != "":
		w.beginStop(d.stop, w.deadline)
	case d.cancel:
		w.canceled = true
		w.cancelAll(ErrStopped)
	case d.resume:
		w.lingerTo, w.empty, w.short = time.Time{}, false, false
	case d.cut:
		w.cut = true
		w.cutCurrent()
	case d.close:
		w.connected = false
		w.exchanger.db.close()
	case d.send != nil:
		w.send(d.send, now)
	}
	for _, t := range d.overdue {
		w.overdue(t, now)
	}
	for _, t := range d.release {
		w.dropWaiting(t)
		w.finish(t, now, unstarted(t.job))
	}
	for _, t := range d.start {
		w.start(t, now)
		w.launch(t)
	}
}

// signalled is the reason of a stop for which Run's context ended.
func (w *wake) signalled() string {
	if errors.Is(w.outer.Err(), context.DeadlineExceeded) {
		return StoppedTime
	}
	return StoppedSignal
}

// takeEnds takes in what else has ended meanwhile, so that it is settled together.
func (w *wake) takeEnds() {
	for {
		select {
		case end := <-w.ended:
			w.end(end)
		default:
			return
		}
	}
}

// launch runs a handler under its timeout and its lease.
func (w *wake) launch(t *task) {
	ctx, cancel := context.WithCancelCause(w.handlers)
	ctx, stopTimer := context.WithTimeoutCause(ctx, t.queue.Timeout, timedOut{t.queue.Timeout})
	t.cancel = cancel
	t.expiry = time.AfterFunc(time.Until(t.leaseEnd()), func() { cancel(ErrLeaseLost) })
	t.job.completion = &completion{schema: w.config.Schema}
	go call(ctx, t.queue.Handler, t.job, func(err error) {
		t.cause = context.Cause(ctx)
		stopTimer()
		t.expiry.Stop()
		cancel(nil)
		select {
		case w.ended <- handlerEnd{t, err}:
		case <-w.over:
		}
	})
}

// end takes in what a handler came to.
func (w *wake) end(e handlerEnd) {
	t, now := e.task, time.Now()
	if t.abandoned {
		w.returned(t)
	} else {
		w.leave(t)
	}
	came := ending{e.err, t.cause}
	if t.completes() { // the row decides, so something is to be written whatever the handler says
		came.err = cmp.Or(came.err, errors.New("completion was not committed"))
		if errors.Is(came.cause, ErrLeaseLost) {
			came.cause = nil
		}
	} else if t.leaseLost {
		came.cause = ErrLeaseLost // also where its timeout ended the context first
	}
	s := decide(t.job, &t.queue.Queue, w.config.MaxBackoff, came)
	w.learn(t, e.err)
	t.job.Payload = nil
	if s.counts == lost {
		w.lose(t)
		return
	}
	w.finish(t, now, s)
}

// send starts an exchange.
func (w *wake) send(req *request, now time.Time) {
	req.run = w.run
	w.state.send(req, now)
	ctx, cut := context.WithCancel(w.exchanges)
	w.cutCurrent = cut
	holds := w.holds()
	go func() {
		defer cut()
		connecting, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		if !holds { // nothing is lost yet: the wait for a connection ends when the run is to stop
			defer context.AfterFunc(w.claiming, func() { stop(context.Cause(w.claiming)) })()
		}
		w.answers <- w.exchanger.exchange(ctx, connecting, *req)
	}()
}
