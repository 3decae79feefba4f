package drain

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Run is one wake, from connect to close: it takes back leases that ran out, claims due jobs and works on them until
// nothing is due, settles every job, records what it did and closes its connection. It never exits the process, and
// there is nothing to start, stop or close.
//
// When ctx ends the run stops: nothing more is claimed, what has not started is released at once, and handlers get the
// grace. A deadline of ctx is taken for the end of the budget, so that everything is settled before it.
//
// The report is complete also where there is an error. The error is nil when the run ended as intended, whatever became
// of its jobs; [ErrRefused] is in its chain when something has to be set right first and nothing was claimed.
func Run(ctx context.Context, config Config) (Report, error) {
	began := time.Now()
	id := make([]byte, 16)
	rand.Read(id) // never fails
	report := Report{Run: hex.EncodeToString(id), Stopped: StoppedError, Suspended: []string{}, Misconfigured: []string{}}
	if config.Started.IsZero() {
		config.Started = began
	}
	if deadline, ok := ctx.Deadline(); ok {
		config.MaxRuntime = min(cmp.Or(config.MaxRuntime, defaultRuntime), deadline.Sub(config.Started))
	}
	if err := config.Check(); err != nil {
		report.Error = err.Error()
		return report, err
	}
	config = config.WithDefaults()
	end := config.Started.Add(config.MaxRuntime)

	lasting := context.WithoutCancel(ctx)
	handlers, cancel := context.WithCancelCause(lasting)
	defer cancel(nil)
	hard, cut := context.WithCancel(lasting)
	defer cut()
	w := &wake{
		hand: newHand(config, end), outer: ctx, run: report.Run, link: &link{config: config}, report: report, reap: true,
		ended: make(chan handlerEnd), answers: make(chan response, 1), over: make(chan struct{}),
		handlers: handlers, cancel: cancel, hard: hard, cut: cut,
	}
	defer w.link.drop()
	w.observe()
	w.drain()
	w.leftovers()
	w.conclude()
	return w.report, w.err
}

// leftovers counts what the end of the grace found in hand.
func (w *wake) leftovers() {
	for _, j := range slices.Clone(w.running) { // abandon takes it out of the list
		w.abandon(j)
	}
	for _, j := range append(w.finished, w.waiting...) {
		w.config.Log.Error("the job could not be settled: its lease decides, and it may run again",
			"queue", j.queue.Name, "id", j.job.ID, "attempt", j.job.Attempt, "was", j.settlement.status)
		w.report.Lost++
		w.kept = append(w.kept, j.job.ID)
	}
	w.running, w.finished, w.waiting = nil, nil, nil
}

// conclude says why the run stopped, looks at what is left and records the run.
func (w *wake) conclude() {
	r := &w.report
	r.Stopped = cmp.Or(w.stop.reason, w.noMore, StoppedEmpty)
	for _, q := range w.queues {
		if r.Stopped == StoppedEmpty && q.doesNotFit {
			r.Stopped = StoppedTime
		}
	}
	if w.err != nil {
		r.Stopped, r.Error = StoppedError, brief(w.err)
	}
	if w.link.proven {
		w.recordRun()
	}
	r.Exchanges = w.link.exchanges
	r.RunMS = time.Since(w.config.Started).Milliseconds()
}

// recordTime is the least that the record may take. It settles nothing, so it may go beyond the grace by that.
const recordTime = 2 * time.Second

func (w *wake) recordRun() {
	end := time.Now().Add(w.config.ConnectTimeout)
	if w.err != nil {
		end = time.Now().Add(recordTime)
	}
	if w.stop.begun() {
		end = earlier(end, later(w.stop.endAt, time.Now().Add(recordTime)))
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(w.outer), end)
	defer cancel()
	rec := record{report: w.report, host: w.config.Host, version: w.config.Version}
	rec.report.RunMS = time.Since(w.config.Started).Milliseconds()
	rec.report.Exchanges = w.link.exchanges + 1
	for _, q := range w.queues {
		rec.queues = append(rec.queues, q.Name)
	}
	resp := w.link.exchange(ctx, ctx, request{run: w.run, strays: true, inHand: w.ids(), record: &rec})
	if resp.err != nil {
		w.config.Log.Warn("the run could not be recorded, and what is left is not known", "error", brief(resp.err))
		if w.err == nil && (w.cutShort || !w.stop.begun()) {
			w.err = reworded{"the run could not be recorded: " + brief(resp.err) + hint(resp.err), resp.err}
			w.report.Stopped, w.report.Error = StoppedError, brief(w.err)
		}
		return
	}
	r, l := &w.report, resp.left
	r.Looked = true
	r.Stopped, r.DueLeft, r.Unhandled, r.Leased, r.NextDueAt = l.stopped, l.due, l.unhandled, l.leased, l.next
	if l.unhandled > 0 {
		w.config.Log.Warn(counted(l.unhandled, "due job")+" without a handler here", "queues", l.others)
	}
}

// counted says how many there are of what is left.
func counted(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case n >= MostCounted:
		return fmt.Sprintf("at least %d %ss", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
