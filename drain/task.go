package drain

import (
	"context"
	"time"
)

// A task is one job in flight: claimed and not yet settled.
type task struct {
	job    Job
	queue  *queue
	alone  bool // nothing else may be in flight when it starts
	unread bool // its payload was too large to come with the claim, and is read by itself

	leased time.Time     // when the exchange that last confirmed the lease was sent
	lease  time.Duration // from then
	askAt  time.Time     // its row was locked: not extended or settled before

	started   time.Time
	cancel    context.CancelCauseFunc
	expiry    *time.Timer // cancels the handler where the lease ends unconfirmed
	place     int         // in state.running
	leaveAt   time.Time   // it is overdue, and abandoned then
	abandoned bool        // the handler did not return when its context ended
	leaseLost bool        // nothing is asked for it any more

	ended      time.Time
	cause      error // why its context had ended by then
	settlement settlement
}

func (t *task) leaseEnd() time.Time { return t.leased.Add(t.lease) }

// completes says whether the handler tried to complete the job in its own transaction, so that its row decides.
func (t *task) completes() bool { return t.job.completion != nil && t.job.completion.tried }

// A queue is a configured queue and what this run knows of it.
type queue struct {
	Queue
	waiting   []*task // claimed and not started, in the order in which they start
	running   int
	suspended bool
	wrong     int64 // the job whose handler said last that it is misconfigured; 0: the last one did not
	since     place // the last one claimed
}

func (q *queue) hasRoom() bool { return q.running < q.Concurrency }
