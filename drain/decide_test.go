package drain

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	no := errors.New("no")
	q := &Queue{Name: "q", Backoff: 10 * time.Second}
	timeout := timedOut{2 * time.Second}
	for _, c := range []struct {
		name string
		job  Job // attempt 1 of 5 unless set
		end  ending
		want string
	}{
		{"nil", Job{}, ending{}, "completed done"},
		{"nil after the timeout", Job{}, ending{nil, timeout}, "completed done"},
		{"nil after the stop", Job{}, ending{nil, ErrStopped}, "completed done"},
		{"nil after the lease", Job{}, ending{nil, ErrLeaseLost}, "lost"},
		{"error", Job{}, ending{no, nil}, "retried queued 20s"},
		{"error, third attempt", Job{Attempt: 3}, ending{no, nil}, "retried queued 1m20s"},
		{"error, last attempt", Job{Attempt: 5}, ending{no, nil}, "failed failed"},
		{"error, beyond the last", Job{Attempt: 7, MaxAttempts: 5}, ending{no, nil}, "failed failed"},
		{"error after the lease", Job{}, ending{no, ErrLeaseLost}, "lost"},
		{"timeout", Job{}, ending{no, timeout}, "retried queued 20s"},
		{"timeout, last attempt", Job{Attempt: 5}, ending{no, timeout}, "failed failed"},
		{"fail", Job{}, ending{Fail(no), nil}, "failed failed"},
		{"fail after the stop", Job{}, ending{Fail(no), ErrStopped}, "failed failed"},
		{"fail after the timeout", Job{}, ending{fmt.Errorf("w: %w", Fail(no)), timeout}, "failed failed"},
		{"retry after", Job{}, ending{RetryAfter(time.Hour, no), nil}, "retried queued 1h0m0s foreseen"},
		{"retry after less", Job{}, ending{RetryAfter(-time.Hour, no), nil}, "retried queued 20s foreseen"},
		{"retry after, last attempt", Job{Attempt: 5}, ending{RetryAfter(time.Hour, no), nil}, "failed failed foreseen"},
		{"suspend", Job{Attempt: 5}, ending{Suspend(no), nil}, "released queued 10s back"},
		{"stopped", Job{}, ending{no, ErrStopped}, "released queued 10s back lost"},
		{"stopped, last attempt", Job{Attempt: 5}, ending{no, ErrStopped}, "released queued 10s back lost"},
		{"stopped, lost twice", Job{lost: 2}, ending{no, ErrStopped}, "released queued 10s back lost"},
		{"stopped, lost thrice", Job{lost: 3}, ending{no, ErrStopped}, "retried queued 10s lost"},
		{"stopped, lost thrice, last attempt", Job{lost: 3, Attempt: 5}, ending{no, ErrStopped}, "failed failed lost"},
		{"misconfigured", Job{}, ending{Misconfigured(no), nil}, "released queued 10s back lost"},
		{"not started", Job{}, ending{NotStarted(no), nil}, "released queued back"},
		{"not started, lost thrice, last attempt", Job{lost: 3, Attempt: 5}, ending{NotStarted(no), nil}, "released queued back"},
		{"not started after the stop", Job{}, ending{NotStarted(no), ErrStopped}, "released queued back"},
		{"not started after the timeout", Job{Attempt: 5}, ending{NotStarted(no), timeout}, "released queued back"},
		{"not started after the lease", Job{}, ending{NotStarted(no), ErrLeaseLost}, "lost"},
		{"misconfigured, lost thrice", Job{lost: 3}, ending{Misconfigured(no), nil}, "retried queued 10s lost"},
	} {
		if c.job.Attempt == 0 {
			c.job.Attempt = 1
		}
		if c.job.MaxAttempts == 0 {
			c.job.MaxAttempts = 5
		}
		s := decide(c.job, q, time.Hour, c.end)
		got := map[outcome]string{completed: "completed", retried: "retried", failed: "failed", released: "released", lost: "lost"}[s.counts]
		for _, part := range []struct {
			is   bool
			text string
		}{{s.status != "", s.status}, {s.delay >= 0, s.delay.String()}, {s.giveBack, "back"}, {s.addLost, "lost"}, {s.foreseen, "foreseen"}} {
			if part.is {
				got += " " + part.text
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if (s.text != "") != (c.end.err != nil && s.counts != lost) {
			t.Errorf("%s: last_error %q", c.name, s.text)
		}
	}
}

// No job is due again within a second, however short its queue's backoff, so that no run spins on one.
func TestDecideNeverUnderASecond(t *testing.T) {
	q := &Queue{Backoff: time.Millisecond}
	no := errors.New("no")
	for _, end := range []ending{{no, nil}, {Suspend(no), nil}, {Misconfigured(no), nil}, {RetryAfter(0, no), nil}, {no, ErrStopped}} {
		for _, lost := range []int{0, 3} {
			if s := decide(Job{Attempt: 1, MaxAttempts: 5, lost: lost}, q, time.Hour, end); s.delay != time.Second {
				t.Errorf("%v, lost %d: due again in %v", end, lost, s.delay)
			}
		}
	}
}

// A settlement of which no answer came is judged by the row.
func TestBecame(t *testing.T) {
	retry := settlement{attempt: 2, lost: 1, status: "queued", counts: retried}
	giveBack := settlement{attempt: 2, lost: 1, status: "queued", giveBack: true, addLost: true, counts: released}
	complete := settlement{attempt: 2, lost: 1, status: "done", counts: completed}
	for _, c := range []struct {
		name string
		s    settlement
		row  row
		want outcome
	}{
		{"completed", complete, row{"done", 2, "me", 1}, completed},
		{"completed by another", complete, row{"done", 2, "other", 1}, lost},
		{"completed by a later attempt", complete, row{"done", 3, "me", 1}, lost},
		{"deleted", complete, row{}, lost},
		{"locked by somebody", complete, row{"running", 2, "me", 1}, stuck},
		{"running under a later attempt", complete, row{"running", 3, "me", 1}, lost},
		{"reaped", complete, row{"queued", 2, "me", 2}, lost},
		{"retried", retry, row{"queued", 2, "me", 1}, retried},
		{"reaped instead of retried", retry, row{"queued", 2, "me", 2}, lost},
		{"claimed again", retry, row{"running", 3, "other", 1}, lost},
		{"completed in the handler's transaction", retry, row{"done", 2, "me", 1}, completed},
		{"given back", giveBack, row{"queued", 1, "me", 2}, released},
		{"retried by hand", giveBack, row{"queued", 0, "me", 0}, lost},
	} {
		if got := c.s.became(c.row, "me"); got != c.want {
			t.Errorf("%s: outcome %d, want %d", c.name, got, c.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		base, most time.Duration
		attempts   int
		want       time.Duration
	}{
		{10 * time.Second, time.Hour, 1, 20 * time.Second},
		{10 * time.Second, time.Hour, 2, 40 * time.Second},
		{10 * time.Second, time.Hour, 8, 2560 * time.Second},
		{10 * time.Second, time.Hour, 9, time.Hour},
		{10 * time.Second, time.Hour, 1 << 31, time.Hour},
		{10 * time.Second, time.Hour, -5, 10 * time.Second},
		{time.Nanosecond, time.Nanosecond, 1 << 31, time.Second},
		{time.Second, 1<<63 - 1, 64, 1<<63 - 1},
		{time.Hour, time.Minute, 1, time.Minute},
	} {
		if got := backoff(c.base, c.most, c.attempts); got != c.want {
			t.Errorf("backoff(%v, %v, %d) = %v, want %v", c.base, c.most, c.attempts, got, c.want)
		}
	}
	for base := time.Nanosecond; base < time.Minute; base *= 7 {
		before := time.Duration(0)
		for attempts := range 200 {
			d := backoff(base, time.Hour, attempts)
			if d < before || d < time.Second || d > time.Hour {
				t.Errorf("base %v: after %d attempts %v, before %v", base, attempts, d, before)
			}
			before = d
		}
	}
}
