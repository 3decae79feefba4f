package drain

import (
	"context"
	"encoding/json"
	"time"
)

// A Job is one claimed job, as its handler sees it.
type Job struct {
	ID    int64
	Queue string
	// Payload is the job's JSON, byte for byte as Postgres prints it: numbers keep all their digits.
	Payload json.RawMessage
	// Attempt is 1 the first time.
	Attempt     int
	MaxAttempts int
	// RunAt is when the job fell due, by the database's clock. It is zero where the column is -infinity.
	RunAt time.Time
	// LastError is what became of the attempt before this one; empty the first time.
	LastError string
	// Run is the id of the run that claimed the job.
	Run string

	lost       int
	completion *completion
}

// A Handler does one job. Its answer settles the job: nil completes it, [Fail] fails it for good, [RetryAfter] retries
// it no sooner than it says, [Suspend] gives it back and stops its queue for this run, [Misconfigured] says that no
// job of this queue can work as things are set, and any other error, a panic or a Goexit is a failed attempt, retried
// by backoff while attempts are left.
//
// A handler may run again for a job that it finished, if the process ended before the job was settled, so what it does
// must bear repetition. It runs outside any transaction. Its context ends at the queue's timeout, some seconds before
// the end of the grace once a run has to stop, or when the lease is lost; [context.Cause] tells which. A handler
// that does not return then is abandoned: it holds its slot until the process ends.
type Handler func(ctx context.Context, job Job) error
