// Package drain is one wake of a worker: it takes what is due from a job queue in one Postgres table, works on it until
// nothing is due, settles every job, says what happened, and is gone. Between two wakes there is no connection and no
// statement, so that a compute which pauses when idle can pause.
//
// # Enqueue
//
// A job is a row. Any language inserts it, in the transaction that makes it necessary; from Go there are [Enqueue] and
// [EnqueueMany].
//
// # Handle
//
// A [Handler] is a function. What it returns decides what becomes of the job:
//
//	nil                     done
//	an error, a panic       queued again, due by backoff, while attempts are left; else failed
//	Fail(err)               failed
//	RetryAfter(d, err)      as an error, but not before d, and logged as information
//	Suspend(err)            queued again, the attempt given back; the queue stops for this run
//	Misconfigured(err)      queued again, the attempt given back up to three times
//	NotStarted(err)         queued again as if never claimed; the queue stops for this run
//
// It may run again for a job that it finished, if the process ended before that was settled. [Job.CompleteTx] settles in
// the handler's own transaction, for effects in the same database that must not happen twice.
//
// # Run
//
// [Run] is the whole wake, and returns a [Report]. What it does to a row:
//
//	           claim: attempts + 1, a lease            complete
//	queued ───────────────────────────────▶ running ───────────────▶ done
//	  ▲  ▲                                   │ │ │
//	  │  │  retry: due by backoff            │ │ │  fail, or no attempts left
//	  │  └───────────────────────────────────┘ │ └─────────────────▶ failed
//	  │     release: the attempt given back    │                       ▲
//	  └────────────────────────────────────────┘                       │
//	  reap: the lease ran out, the worker is lost ─── no attempts left ┘
//
// Everything that is written for a claimed job is written only while the row still runs under this run and this attempt,
// so that a run which lost its lease changes nothing.
//
// A run is a row of exchanges, each one round trip and one transaction, over one connection that is let go when it is not
// needed. What is in flight and the time give a decision, and one goroutine acts on it. A finished job is settled in the
// exchange that claims the next ones:
//
//	reap, claim ─▶ work ─▶ settle, claim ─▶ work ─▶ ... ─▶ settle, claim: nothing ─▶ look, record ─▶ close
//
// What an end costs that is not the handler's own verdict:
//
//	claimed, never started                    attempt given back                        due as before
//	interrupted by a signal or the budget     given back while lost < 3; lost + 1       one backoff later
//	misconfigured                             given back while lost < 3; lost + 1       one backoff later
//	suspended                                 given back                                one backoff later
//	could not be started: this machine is
//	short of something                        given back                                due as before
//	job timeout                               counts                                    by backoff, as any failure
//	process gone, reaped                      counts; lost + 1                          due as before
//	could not be started (NotStarted)         given back                                due as before
//
// A job that was lost twice, or once with its last attempt next, runs with nothing else in flight.
package drain
