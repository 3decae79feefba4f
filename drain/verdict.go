package drain

import (
	"errors"
	"time"
)

// ErrLeaseLost is the cause of a handler's context that ended because another run may own the job by now, and what
// [Job.CompleteTx] returns then. Whatever the handler returns, nothing is written for the job,
// unless it called CompleteTx: then the row decides.
var ErrLeaseLost = errors.New("the lease on this job is lost")

// ErrStopped is the cause of a handler's context that ended because the run has to end: a signal, the budget or the
// platform. A plain error returned after it counts as an interruption, not as a failed attempt.
var ErrStopped = errors.New("the run is stopping")

// ErrAbandoned is what [Run] returns when every slot is held by a handler that does not return, so that nothing more
// could be started.
var ErrAbandoned = errors.New("every slot is held by a handler that does not return")

// A verdict is a handler's own word on what should become of its job. Plain errors carry none.
type verdict struct {
	kind  verdictKind
	delay time.Duration
	err   error
}

type verdictKind int

const (
	verdictFail verdictKind = iota + 1
	verdictRetryAfter
	verdictSuspend
	verdictMisconfigured
	verdictNotStarted
)

func (v *verdict) Error() string {
	if v.err == nil {
		return "no reason given"
	}
	return v.err.Error()
}

func (v *verdict) Unwrap() error { return v.err }

// Fail fails the job for good, whatever attempts are left.
func Fail(err error) error { return &verdict{kind: verdictFail, err: err} }

// RetryAfter is a failed attempt that the handler foresaw: it is logged as information, and the job is not due again
// before d has passed. It only ever lengthens the backoff; zero or less leaves it as it is.
func RetryAfter(d time.Duration, err error) error {
	return &verdict{kind: verdictRetryAfter, delay: d, err: err}
}

// Suspend gives the job back, attempt included, due one backoff later, and stops its queue for this run: what the queue
// needs is out of reach, and the other jobs would fail alike. It does not change the exit status.
func Suspend(err error) error { return &verdict{kind: verdictSuspend, err: err} }

// Misconfigured says that the handler could not work for a reason that lies in how it is set up (a missing program, a
// wrong address), not in the job. The attempt is given back as long as the job was lost less than three times; when the last two
// handlers of a queue to finish were different jobs and both said so, the queue stops for this run.
func Misconfigured(err error) error { return &verdict{kind: verdictMisconfigured, err: err} }

// NotStarted says that the handler could not begin because this machine is short of something (processes, open files,
// memory), and never touched the job. The job is given back as if it had not been claimed, attempt and run_at included,
// and its queue stops for this run. The queue is listed as misconfigured, for somebody has to raise a limit.
func NotStarted(err error) error { return &verdict{kind: verdictNotStarted, err: err} }
