package drain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Trial is what a handler came to outside a run, and how a run would take it.
type Trial struct {
	// Text is what would be the job's last_error; empty where the job would be done.
	Text string
	// Meaning is what would become of the job, in words.
	Meaning string
	// Done and Misconfigured say so.
	Done, Misconfigured bool
}

// Try runs the queue's handler on a payload, as the first attempt of five at a job, and says how a run would take its
// answer. No database is touched. The error is that of [Config.Check], apart from the database.
func (c Config) Try(ctx context.Context, queueName string, payload []byte) (Trial, error) {
	if c.Database == nil {
		c.Database = func() (*pgx.ConnConfig, error) { return nil, nil }
	}
	if err := c.Check(); err != nil {
		return Trial{}, err
	}
	if !slices.ContainsFunc(c.Queues, func(q Queue) bool { return q.Name == queueName }) {
		return Trial{}, refuse("queue %s has no handler", queueName)
	}
	c = c.WithDefaults()
	q := newState(c, never).queue(queueName)
	job := Job{ID: 1, Queue: queueName, Payload: payload, Attempt: 1, MaxAttempts: 5, RunAt: time.Now(), Run: "try"}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, timedOut{q.Timeout})
	defer cancel()
	answer := make(chan ending, 1)
	go call(ctx, q.Handler, job, func(err error) { answer <- ending{err, context.Cause(ctx)} })
	end := <-answer
	s := decide(job, &q.Queue, c.MaxBackoff, end)
	v := verdictOf(end.err)
	return Trial{Text: s.text, Meaning: s.meaning(v), Done: s.counts == completed,
		Misconfigured: v != nil && v.kind == verdictMisconfigured}, nil
}

func (s settlement) meaning(v *verdict) string {
	switch {
	case s.counts == completed:
		return "the job would be done"
	case s.counts == failed:
		return "the job would have failed for good"
	case v != nil && v.kind == verdictSuspend:
		return fmt.Sprintf("suspended: the job would be given back, due again in %v, and its queue would stop for the run", s.delay)
	case v != nil && v.kind == verdictMisconfigured:
		return fmt.Sprintf("misconfigured: the job would be given back, due again in %v, and the run would exit with 5", s.delay)
	}
	return fmt.Sprintf("a failed attempt: the job would be queued again in %v", s.delay)
}
