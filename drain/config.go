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
	// never under a second. 10 seconds and 1 hour unless set. A cap under a base, a queue's own too, or under a second is
	// a mistake.
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
	// Redact, where set, takes out of the report's and the record's error what is secret in this process; see [Secrets].
	Redact func(string) string
	// NameOf, where set, is what Check calls a field in its errors, one of a queue where that is not empty, for a program
	// whose users know the field by another name.
	NameOf func(field, queue string) string
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

// name is what Check calls a field.
func (c Config) name(field string) string {
	if c.NameOf != nil {
		return c.NameOf(field, "")
	}
	return field
}

// nameOf is what Check calls a field of a queue, or the one that stands in for it where the queue says nothing.
func (c Config) nameOf(q Queue, field, general string, own time.Duration) string {
	switch {
	case own == 0:
		return c.name(general)
	case c.NameOf != nil:
		return c.NameOf(field, q.Name)
	}
	return fmt.Sprintf("%s of queue %s", field, q.Name)
}

// Check gives all mistakes in the configuration at once, joined, each under its field's name or what NameOf says of it;
// nil when there are none. [Run] checks too, before it connects.
func (c Config) Check() error {
	var mistakes []error
	wrong := func(format string, args ...any) { mistakes = append(mistakes, refuse(format, args...)) }
	if c.Database == nil {
		wrong("%s: no database is given", c.name("Database"))
	}
	if _, err := schemaOf(c.Schema); err != nil {
		mistakes = append(mistakes, err)
	}
	if len(c.Queues) == 0 {
		wrong("%s: no queue has a handler; give one", c.name("Queues"))
	}
	negative := false
	for _, n := range []struct {
		field string
		value int
	}{{"Batch", c.Batch}, {"Concurrency", c.Concurrency}, {"MaxJobs", c.MaxJobs}} {
		if n.value < 0 {
			negative = true
			wrong("%s: %d is negative", c.name(n.field), n.value)
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"JobTimeout", c.JobTimeout}, {"Lease", c.Lease}, {"Grace", c.Grace}, {"Notice", c.Notice},
		{"MaxRuntime", c.MaxRuntime}, {"Linger", c.Linger}, {"Backoff", c.Backoff},
		{"MaxBackoff", c.MaxBackoff}, {"ConnectTimeout", c.ConnectTimeout},
	} {
		if d.value < 0 {
			negative = true
			wrong("%s: %v is negative", c.name(d.field), d.value)
		}
	}
	if c.Lease > 0 && c.Lease < time.Second {
		wrong("%s: %v is too short to be extended in time; the least is 1s", c.name("Lease"), c.Lease)
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
			negative = true
			wrong("queue %s: its timeout, concurrency or backoff is negative", q.Name)
		}
		seen[q.Name] = true
	}
	if !negative { // else what is derived from it would be blamed
		mistakes = append(append(mistakes, c.checkTimes()...), c.checkBackoffs()...)
	}
	return errors.Join(mistakes...)
}

// checkTimes holds what a job and the grace may take against the budget.
func (c Config) checkTimes() (mistakes []error) {
	full := c.WithDefaults()
	room := full.MaxRuntime - full.Grace
	if room <= 0 {
		return []error{refuse("%s %v leaves no time for a job within %[3]s %[4]v: make it shorter, or %[3]s longer",
			c.name("Grace"), full.Grace, c.name("MaxRuntime"), full.MaxRuntime)}
	}
	for i, q := range full.Queues {
		if q.Timeout >= room {
			mistakes = append(mistakes, refuse("the timeout %v of queue %s is no less than %[3]s %[4]v - %[5]s %[6]v, so that none of its jobs could be started: "+
				"shorten %[7]s, or lengthen %[3]s", q.Timeout, q.Name, c.name("MaxRuntime"), full.MaxRuntime, c.name("Grace"), full.Grace,
				c.nameOf(q, "Timeout", "JobTimeout", c.Queues[i].Timeout)))
		}
	}
	return mistakes
}

// checkBackoffs holds the cap of the delays against their bases: under its base it would shorten every delay in silence.
func (c Config) checkBackoffs() (mistakes []error) {
	full := c.WithDefaults()
	most, cap := full.MaxBackoff, c.name("MaxBackoff")
	if most < time.Second {
		return []error{refuse("%s %v is under 1s, the least delay before a retry, whatever %s says; lengthen it", cap, most, c.name("Backoff"))}
	}
	under := func(name string, base time.Duration) {
		if base > most {
			mistakes = append(mistakes, refuse("%[1]s %[2]v is under %[3]s %[4]v, the base of what it caps: lengthen %[1]s, or shorten %[3]s", cap, most, name, base))
		}
	}
	if c.Backoff > 0 || slices.ContainsFunc(c.Queues, func(q Queue) bool { return q.Backoff == 0 }) {
		under(c.name("Backoff"), full.Backoff)
	}
	for _, q := range c.Queues {
		if q.Backoff > 0 {
			under(c.nameOf(q, "Backoff", "", q.Backoff), q.Backoff)
		}
	}
	return mistakes
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
	if c.Redact == nil {
		c.Redact = (*Secrets)(nil).Redact
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
