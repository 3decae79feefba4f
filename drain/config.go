package drain

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// A Config says what a run drains, and within which limits. The zero value of every field but Database and Queues means
// its default. Negative values are mistakes.
type Config struct {
	// Database says where the jobs are. It is asked before every connect, so that a secret may change while a run lasts.
	Database func() (*pgx.ConnConfig, error)
	// Schema holds the tables; ebb unless set.
	Schema string
	// Queues are drained in their order: what is due in an earlier one is claimed first.
	Queues []Queue

	// Batch is the most jobs that one claim takes; 10 unless set.
	Batch int
	// Concurrency is the most handlers at once; 10 unless set.
	Concurrency int
	// MaxJobs is the most jobs that a run claims; no limit unless set.
	MaxJobs int
	// JobTimeout is the time one job may take where its queue says nothing: 5 minutes, or half of (MaxRuntime - Grace)
	// where that is less.
	JobTimeout time.Duration
	// Lease is how long a claim holds before it must be extended: the queue's timeout + Grace + 1 minute unless set, so
	// that it never is. At least one second.
	Lease time.Duration
	// Grace is the whole time from the signal to stop to the last settle: 20 seconds, or a quarter of MaxRuntime where
	// that is less.
	Grace time.Duration
	// Notice is how long the platform waits between the signal and the kill, where that is less than Grace: a stop for
	// which Run's context was cancelled is over by then. Grace unless set.
	Notice time.Duration
	// MaxRuntime bounds the whole run, counted from Started: 1 hour unless set. A deadline of Run's context that is
	// nearer takes its place.
	MaxRuntime time.Duration
	// Linger is the total time that a run may wait, without a connection, for jobs about to fall due. None unless set.
	Linger time.Duration
	// Backoff and MaxBackoff are base and cap of the delay before a retry: least(MaxBackoff, Backoff * 2^attempts),
	// never under a second. 10 seconds and 1 hour unless set.
	Backoff, MaxBackoff time.Duration
	// ConnectTimeout is the patience with a compute that resumes; 60 seconds unless set.
	ConnectTimeout time.Duration

	// Started is when the process started; the call of Run unless set.
	Started time.Time
	// Host and Version are recorded with the run.
	Host, Version string
	// Log gets what happens on the way; nothing is logged unless set.
	Log *slog.Logger
	// Observe, where set, is called with the report so far at the start and after every exchange but the last, from the
	// run's own goroutine.
	Observe func(Report)
}

// A Queue is a name and what does its jobs.
type Queue struct {
	Name    string
	Handler Handler
	// Timeout is the time one job may take; Config.JobTimeout unless set.
	Timeout time.Duration
	// Concurrency is the most handlers of this queue at once; Config.Concurrency unless set. Where other queues are
	// drained beside it, no more of its jobs are claimed either, so that they never wait in the slots of others.
	Concurrency int
	// Backoff is the queue's own base; Config.Backoff unless set.
	Backoff time.Duration
}

const defaultRuntime = time.Hour

// ErrRefused is in the chain of every error for which nothing was claimed because something has to be set right by
// hand: a setting, the schema's version, the role's isolation level.
var ErrRefused = errors.New("refused")

type refusal struct{ error }

func (refusal) Is(target error) bool { return target == ErrRefused }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// Check gives all mistakes in the configuration at once, joined, each under its setting's name; nil when there are
// none. [Run] checks too, before it connects.
func (c Config) Check() error {
	var mistakes []error
	wrong := func(format string, args ...any) { mistakes = append(mistakes, refuse(format, args...)) }
	if c.Database == nil {
		wrong("DATABASE_URL: no database is given")
	}
	if _, err := schemaOf(c.Schema); err != nil {
		mistakes = append(mistakes, err)
	}
	if len(c.Queues) == 0 {
		wrong("no queue has a handler: give one, for example EBB_QUEUE_EMAIL_COMMAND=./send-email")
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"EBB_BATCH", c.Batch}, {"EBB_CONCURRENCY", c.Concurrency}, {"EBB_MAX_JOBS", c.MaxJobs}} {
		if n.value < 0 {
			wrong("%s: %d is negative", n.name, n.value)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"EBB_JOB_TIMEOUT", c.JobTimeout}, {"EBB_LEASE", c.Lease}, {"EBB_GRACE", c.Grace}, {"the notice", c.Notice},
		{"EBB_MAX_RUNTIME", c.MaxRuntime}, {"EBB_LINGER", c.Linger}, {"EBB_BACKOFF", c.Backoff},
		{"EBB_MAX_BACKOFF", c.MaxBackoff}, {"EBB_CONNECT_TIMEOUT", c.ConnectTimeout},
	} {
		if d.value < 0 {
			wrong("%s: %v is negative", d.name, d.value)
		}
	}
	if c.Lease > 0 && c.Lease < time.Second {
		wrong("EBB_LEASE: %v is too short to be extended in time; the least is 1s", c.Lease)
	}
	seen := map[string]bool{}
	for _, q := range c.Queues {
		switch {
		case q.Name == "" || strings.ContainsRune(q.Name, 0) || !utf8.ValidString(q.Name):
			wrong("queue %q: a queue's name is not empty, valid UTF-8 and without NUL", q.Name)
		case seen[q.Name]:
			wrong("queue %s is given twice", q.Name)
		case q.Handler == nil:
			wrong("queue %s has no handler", q.Name)
		case q.Timeout < 0 || q.Concurrency < 0 || q.Backoff < 0:
			wrong("queue %s: its timeout, concurrency or backoff is negative", q.Name)
		}
		seen[q.Name] = true
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	full := c.WithDefaults()
	if room := full.MaxRuntime - full.Grace; room <= 0 {
		wrong("EBB_GRACE %v leaves no time for a job within EBB_MAX_RUNTIME %v: make it shorter, or EBB_MAX_RUNTIME longer",
			full.Grace, full.MaxRuntime)
	} else {
		for _, q := range full.Queues {
			if q.Timeout >= room {
				wrong("the timeout %v of queue %s is no less than EBB_MAX_RUNTIME %v - EBB_GRACE %v, so that none of its jobs could be started: "+
					"shorten EBB_JOB_TIMEOUT or the queue's own timeout, or lengthen EBB_MAX_RUNTIME", q.Timeout, q.Name, full.MaxRuntime, full.Grace)
			}
		}
	}
	return errors.Join(mistakes...)
}

// WithDefaults is the configuration with its defaults in place of zero fields, those of its queues included, as [Run]
// works with them. Database, MaxJobs, Lease, Linger, Started, Host, Version and Observe stay as they are: their zero values
// mean something. It looks for no mistakes; where there are some, what is derived from them may be negative.
func (c Config) WithDefaults() Config {
	orInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	if c.Schema == "" {
		c.Schema = "ebb"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	orInt(&c.Batch, 10)
	orInt(&c.Concurrency, 10)
	or(&c.MaxRuntime, defaultRuntime)
	or(&c.Grace, min(20*time.Second, c.MaxRuntime/4))
	or(&c.Notice, c.Grace)
	or(&c.JobTimeout, min(5*time.Minute, (c.MaxRuntime-c.Grace)/2))
	or(&c.Backoff, 10*time.Second)
	or(&c.MaxBackoff, time.Hour)
	or(&c.ConnectTimeout, time.Minute)
	c.Queues = slices.Clone(c.Queues)
	for i := range c.Queues {
		q := &c.Queues[i]
		or(&q.Timeout, c.JobTimeout)
		or(&q.Backoff, c.Backoff)
		orInt(&q.Concurrency, c.Concurrency)
		q.Concurrency = min(q.Concurrency, c.Concurrency)
	}
	return c
}

// maxLease bounds every lease: one that ends more than a day later than it could is a hand's work, and counts as expired
// (expired.sql). Jobs that take longer have theirs extended.
const maxLease = 30 * 24 * time.Hour

// lease is how long a claim of this queue holds.
func (c Config) lease(q *Queue) time.Duration {
	if c.Lease > 0 {
		return min(c.Lease, maxLease)
	}
	return min(q.Timeout+c.Grace+time.Minute, maxLease)
}

// covers is what a lease must still hold for when a job that waited in hand is started: all that the job may take, or
// half of a lease that is shorter than that. A lease that is hardly longer counts as shorter: by the time its answer is
// here it no longer covers the job, however often it is extended.
func (c Config) covers(q *Queue) time.Duration {
	if need := q.Timeout + c.Grace; c.lease(q) >= need+min(need/10, time.Minute) {
		return need
	}
	return c.lease(q) / 2
}
