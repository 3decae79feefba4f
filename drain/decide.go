package drain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// An ending is what a handler left behind: what it returned and why its context had ended by then, if it had.
type ending struct {
	err   error
	cause error
}

// A settlement is what is to become of one job in hand.
type settlement struct {
	id      int64
	attempt int
	lost    int // the row's count before this

	status   string        // done, queued or failed
	giveBack bool          // the attempt does not count
	addLost  bool          // the handler had no verdict of its own
	delay    time.Duration // until it is due again; negative: run_at stays as it is
	text     string        // last_error; empty: stays as it is

	counts   outcome
	foreseen bool // the handler said so: nothing alarming
}

// timedOut is the cause of a context that ended at the queue's timeout.
type timedOut struct{ after time.Duration }

func (t timedOut) Error() string   { return fmt.Sprintf("timed out after %v", t.after) }
func (t timedOut) Unwrap() error   { return context.DeadlineExceeded }
func (t timedOut) Is(e error) bool { return e == context.DeadlineExceeded }

// decide says what becomes of a job whose handler ended, by the table in the package documentation. A handler's own
// verdict goes before the reason for which its context ended; a lost lease goes before both, and leaves nothing to
// write.
func decide(job Job, q *Queue, maxBackoff time.Duration, end ending) settlement {
	s := settlement{id: job.ID, attempt: job.Attempt, lost: job.lost, delay: -1}
	if errors.Is(end.cause, ErrLeaseLost) {
		s.counts = lost
		return s
	}
	if end.err == nil {
		s.status, s.counts = "done", completed
		return s
	}
	s.text = storable(errorText(end.err))
	switch v := verdictOf(end.err); {
	case v != nil && v.kind == verdictFail:
		s.fail()
	case v != nil && v.kind == verdictSuspend:
		s.release(q.Backoff)
	case v != nil && v.kind == verdictMisconfigured:
		s.endWithoutVerdict(job, q)
	case v != nil && v.kind == verdictRetryAfter:
		s.foreseen = true
		s.retry(job, max(v.delay, backoff(q.Backoff, maxBackoff, job.Attempt)))
	case errors.Is(end.cause, ErrStopped):
		s.text = storable("interrupted, " + ErrStopped.Error() + ": " + errorText(end.err))
		s.endWithoutVerdict(job, q)
	default:
		if t := (timedOut{}); errors.As(end.cause, &t) {
			s.text = storable(t.Error() + ": " + errorText(end.err))
		}
		s.retry(job, backoff(q.Backoff, maxBackoff, job.Attempt))
	}
	return s
}

func (s *settlement) fail() { s.status, s.counts = "failed", failed }

func (s *settlement) retry(job Job, delay time.Duration) {
	if job.Attempt >= job.MaxAttempts {
		s.fail()
		return
	}
	s.status, s.delay, s.counts = "queued", delay, retried
}

func (s *settlement) release(base time.Duration) {
	s.status, s.giveBack, s.delay, s.counts = "queued", true, max(base, time.Second), released
}

// endWithoutVerdict gives the attempt back while the job was lost less than three times; from then on it counts, so
// that a job which only ever ends like this comes to an end.
func (s *settlement) endWithoutVerdict(job Job, q *Queue) {
	if job.lost < 3 {
		s.release(q.Backoff)
	} else {
		s.retry(job, max(q.Backoff, time.Second))
	}
	s.addLost = true
}

// unstarted releases a job that was claimed and never started.
func unstarted(job Job) settlement {
	return settlement{id: job.ID, attempt: job.Attempt, lost: job.lost,
		status: "queued", giveBack: true, delay: -1, counts: released}
}

// call runs a handler and always comes back with an ending, also after a panic or a Goexit.
func call(ctx context.Context, h Handler, job Job, done func(error)) {
	err := errors.New("handler exited without returning (runtime.Goexit)")
	defer func() { done(err) }() // whatever the defer below comes to
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %s\n%s", panicText(r), panicFrames())
		}
	}()
	err = plain(h(ctx, job))
}

// plain takes from a handler's error what is needed of it, here, where its methods can end no goroutine but its own.
func plain(err error) error {
	if err == nil {
		return nil
	}
	text := errors.New(storable(errorText(err)))
	if v := verdictOf(err); v != nil {
		return &verdict{v.kind, v.delay, text}
	}
	return text
}

func panicText(r any) string {
	text := fmt.Sprint(r) // fmt catches panics of Error and String methods
	if text == "" {
		text = "(no text)"
	}
	return fmt.Sprintf("%T: %s", r, text)
}

// panicFrames are the first frames below the panic: where it happened and who called that.
func panicFrames() string {
	_, below, found := strings.Cut(string(debug.Stack()), "\npanic(")
	if !found {
		return ""
	}
	lines := strings.SplitN(below, "\n", 11)
	if len(lines) < 3 {
		return ""
	}
	return strings.Join(lines[2:min(len(lines), 10)], "\n")
}

// verdictOf and errorText stand what a foreign error type may do: panic in its own methods.
func verdictOf(err error) (v *verdict) {
	defer func() {
		if recover() != nil {
			v = nil
		}
	}()
	errors.As(err, &v)
	return v
}

func errorText(err error) string {
	if text := fmt.Sprintf("%v", err); text != "" {
		return text
	}
	return fmt.Sprintf("%T without a text", err)
}
