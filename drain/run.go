package drain

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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
	return newWake(ctx, config, report, exchanger{&session{config: config}, config, jitter}).toEnd()
}

// newWake makes a run that a checked configuration with its defaults wants, over any database.
func newWake(ctx context.Context, config Config, report Report, over exchanger) *wake {
	lasting := context.WithoutCancel(ctx)
	w := &wake{
		state: newState(config, config.Started.Add(config.MaxRuntime)), exchanger: over, outer: ctx, run: report.Run, report: report,
		reaped: map[int64]bool{}, ended: make(chan handlerEnd), answers: make(chan response, 1), over: make(chan struct{}),
	}
	w.handlers, w.cancelAll = context.WithCancelCause(lasting)
	w.exchanges, w.cutAll = context.WithCancel(lasting)
	w.claiming, w.endClaims = context.WithCancel(ctx)
	return w
}

// toEnd is the whole run.
func (w *wake) toEnd() (Report, error) {
	defer w.cancelAll(nil)
	defer w.cutAll()
	defer w.endClaims()
	defer w.exchanger.db.close()
	w.observe()
	w.conclude(w.drain())
	return w.report, w.err
}

// conclude finds out what became of the last exchanges, looks at what is left and records the run.
func (w *wake) conclude(stopped string) {
	for len(w.running) > 0 {
		w.abandon(w.running[0])
	}
	r := &w.report
	r.Stopped = stopped
	if w.err != nil {
		r.Stopped, r.Error = StoppedError, w.config.Redact(brief(w.err))
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(w.outer), w.lastEnd())
	defer cancel()
	reached := w.exchanger.db.proven() || w.orphans
	w.lastLook(ctx)
	if reached {
		w.recordRun(ctx)
	}
	if w.err == nil && r.Stopped != StoppedSignal && !w.exchanger.db.proven() {
		w.err = errors.New("the run ended before the database answered")
		r.Stopped, r.Error = StoppedError, brief(w.err)
	}
	r.Exchanges, _ = w.exchanger.db.traffic()
	r.RunMS = time.Since(w.config.Started).Milliseconds()
}

// recordTime is the least that the last look and the record may take. They settle nothing, so they may go beyond the
// grace by that.
const recordTime = 2 * time.Second

func (w *wake) lastEnd() time.Time {
	now := time.Now()
	end := now.Add(w.config.ConnectTimeout)
	if w.err != nil {
		end = now.Add(recordTime)
	}
	if w.stop.begun() {
		end = earlier(end, later(w.stop.endAt, now.Add(recordTime)))
	}
	return end
}

func (w *wake) recordRun(ctx context.Context) {
	rec := record{report: w.report, host: w.config.Host, version: w.config.Version}
	rec.report.RunMS = time.Since(w.config.Started).Milliseconds()
	rec.report.Exchanges++
	for _, q := range w.queues {
		rec.queues = append(rec.queues, q.Name)
	}
	resp := w.exchanger.exchange(ctx, ctx, request{run: w.run, orphans: true, inFlight: w.inFlight(), record: &rec})
	if resp.err != nil {
		w.config.Log.Warn("the run could not be recorded, and what is left is not known", "error", brief(resp.err))
		if w.err == nil && (w.cutShort || !w.stop.begun()) {
			w.err = reworded{"the run could not be recorded: " + brief(resp.err) + hint(resp.err), resp.err}
			w.report.Stopped, w.report.Error = StoppedError, w.config.Redact(brief(w.err))
		}
		return
	}
	r, l := &w.report, resp.left
	r.Looked = true
	r.Stopped, r.DueLeft, r.Unhandled, r.Leased, r.NextDueAt = l.stopped, l.due, l.unhandled, l.leased, l.next
	if l.unhandled > 0 {
		names := l.others
		if more := l.otherQueues - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		w.config.Log.Warn(counted(l.unhandled, "due job")+" without a handler here", "queues", names)
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
