package drain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var t0 = time.Unix(1_000_000, 0)

// newPlan is a hand with one queue, by whose decisions the tests look at t0.
func newPlan(change func(*Config)) *hand {
	c := Config{Queues: []Queue{{Name: "q"}}, Started: t0}
	if change != nil {
		change(&c)
	}
	c = c.WithDefaults()
	h := newHand(c, t0.Add(c.MaxRuntime))
	h.took = 5 * time.Millisecond
	return h
}

// wait adds jobs that wait to start, claimed a while ago.
func (h *hand) wait(n int, queue string, ago time.Duration) {
	q := h.queue(queue)
	for range n {
		h.waiting = append(h.waiting, &work{job: Job{ID: int64(len(h.ids()) + 1)}, queue: q, leased: t0.Add(-ago), lease: h.config.lease(&q.Queue)})
		q.waiting++
	}
}

func (h *hand) startAll(now time.Time) (n int) {
	for h.startable(now) != nil {
		n++
	}
	return n
}

func TestClaimSize(t *testing.T) {
	for _, c := range []struct {
		name                        string
		batch, concurrency, maxJobs int
		running                     int
		want                        int // most; 0: no claim
	}{
		{"nothing in hand", 10, 10, 0, 0, 10},
		{"slots busy", 10, 10, 0, 10, 0},
		{"one slot free", 10, 10, 0, 9, 1},
		{"more slots than batch", 10, 25, 0, 10, 10},
		{"nearly full", 10, 25, 0, 22, 3},
		{"one at a time", 1, 10, 0, 4, 1},
		{"one slot, whole batches", 10, 1, 0, 0, 10},
		{"budget of jobs", 10, 10, 7, 0, 7},
	} {
		h := newPlan(func(cf *Config) { cf.Batch, cf.Concurrency, cf.MaxJobs = c.batch, c.concurrency, c.maxJobs })
		h.wait(c.running, "q", 0)
		if n := h.startAll(t0); n != c.running {
			t.Fatalf("%s: %d started", c.name, n)
		}
		got := 0
		if claim := h.claims(t0); claim != nil {
			got = claim.most
		}
		if got != c.want {
			t.Errorf("%s: claims %d, want %d", c.name, got, c.want)
		}
	}
}

// No claim is made while something claimed waits to start, or while a job runs alone.
func TestNoClaimWhileJobsWait(t *testing.T) {
	h := newPlan(func(c *Config) { c.Concurrency = 1 })
	h.wait(10, "q", 0)
	h.startAll(t0)
	h.finish(h.running[0], t0, settlement{status: "done"})
	if h.claims(t0) != nil {
		t.Error("claims while nine wait")
	}
	h = newPlan(nil)
	h.wait(1, "q", 0)
	h.waiting[0].alone = true
	h.startAll(t0)
	h.wait(1, "q", 0)
	if h.claims(t0) != nil || h.startAll(t0) != 0 {
		t.Error("something joins a job that has to run alone")
	}
}

// A queue with a limit of its own takes no slots from the others, and whole batches where it is alone.
func TestLimitedQueue(t *testing.T) {
	h := newPlan(func(c *Config) { c.Queues = []Queue{{Name: "a", Concurrency: 2}, {Name: "b"}} })
	if rooms := h.claims(t0).rooms; len(rooms) != 2 || rooms[0].jobs != 2 || rooms[1].jobs != 10 {
		t.Errorf("rooms %+v", rooms)
	}
	h.wait(2, "a", 0)
	h.startAll(t0)
	if rooms := h.claims(t0).rooms; len(rooms) != 1 || rooms[0].queue != "b" {
		t.Errorf("rooms with two running: %+v", rooms)
	}
	h = newPlan(func(c *Config) { c.Queues = []Queue{{Name: "a", Concurrency: 1}} })
	if rooms := h.claims(t0).rooms; rooms[0].jobs != 10 {
		t.Errorf("rooms of a queue alone: %+v", rooms)
	}
}

func TestWhenToSettle(t *testing.T) {
	ms := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }
	settles := func(h *hand, now time.Time) bool {
		req, _ := h.plan(now)
		return req != nil && len(req.settles) > 0
	}
	h := newPlan(nil)
	h.wait(10, "q", 0)
	h.startAll(t0)
	h.finish(h.running[0], t0, settlement{id: 1, status: "done"})
	if settles(h, ms(4)) || !settles(h, ms(5)) {
		t.Error("an idle slot waits for company other than the last exchange took")
	}
	for len(h.running) > 0 {
		h.finish(h.running[0], ms(1), settlement{id: h.running[0].job.ID, status: "done"})
	}
	if req, _ := h.plan(ms(1)); req == nil || len(req.settles) != 10 || req.claim == nil || req.claim.most != 10 {
		t.Errorf("all finished: %+v", req)
	}

	h = newPlan(func(c *Config) { c.Concurrency = 1 })
	h.wait(10, "q", 0)
	h.startAll(t0)
	h.finish(h.running[0], t0, settlement{id: 1, status: "done"})
	h.startAll(t0)
	if settles(h, ms(499)) || !settles(h, ms(500)) {
		t.Error("with others of the batch waiting, a finished job is not settled after half a second")
	}
}

func TestWhatStopReleases(t *testing.T) {
	h := newPlan(func(c *Config) { c.Concurrency = 1 })
	h.wait(10, "q", 0)
	h.startAll(t0)
	h.stop = stopBy(StoppedSignal, t0.Add(20*time.Second), 20*time.Second)
	h.letGo(t0)
	req, _ := h.plan(t0)
	if req == nil || len(req.settles) != 9 || req.claim != nil || !req.settles[0].giveBack || req.settles[0].delay >= 0 {
		t.Errorf("%+v", req)
	}
}

// Normally no lease is ever extended; one that is shorter than the job is, before half of it is gone.
func TestWhenToExtend(t *testing.T) {
	h := newPlan(nil)
	h.wait(1, "q", 0)
	h.startAll(t0)
	if _, at := h.plan(t0); !at.Equal(never) {
		t.Errorf("looks again at %v", at)
	}
	h = newPlan(func(c *Config) { c.Lease = 10 * time.Second })
	h.wait(1, "q", 0)
	h.startAll(t0)
	if _, at := h.plan(t0); !at.Equal(t0.Add(4 * time.Second)) {
		t.Errorf("extends after %v", at.Sub(t0))
	}
	if req, _ := h.plan(t0.Add(4 * time.Second)); req == nil || len(req.extends) != 1 || !req.strays || req.extends[0].lease != 10*time.Second {
		t.Errorf("%+v", req)
	}
	// A job that waited in hand starts only while its lease covers it.
	h = newPlan(nil)
	h.wait(1, "q", 2*time.Minute)
	if h.startAll(t0) != 0 {
		t.Error("starts under a lease that does not cover it")
	}
	if req, _ := h.plan(t0); req == nil || len(req.extends) != 1 {
		t.Errorf("%+v", req)
	}
}

func TestNothingStartsThatCouldNotEndInTime(t *testing.T) {
	h := newPlan(func(c *Config) {
		c.MaxRuntime, c.Grace = 20*time.Second, 5*time.Second
		c.Queues = []Queue{{Name: "long", Timeout: 10 * time.Second}, {Name: "short", Timeout: 2 * time.Second}}
	})
	for _, c := range []struct {
		at   time.Duration
		want string
	}{{0, "long short"}, {5 * time.Second, "long short"}, {6 * time.Second, "short"}, {14 * time.Second, ""}} {
		var names []string
		for _, r := range h.rooms(t0.Add(c.at)) {
			names = append(names, r.queue)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("after %v: %q, want %q", c.at, got, c.want)
		}
	}
	if h.claims(t0.Add(14*time.Second)) != nil || h.noMore != StoppedTime {
		t.Errorf("nothing fits, but noMore is %q", h.noMore)
	}
}

func TestStopSteps(t *testing.T) {
	for _, c := range []struct{ grace, cancel, kill, leave time.Duration }{
		{20 * time.Second, 14 * time.Second, 5 * time.Second, 19500 * time.Millisecond},
		{60 * time.Second, 54 * time.Second, 5 * time.Second, 59500 * time.Millisecond},
		{10 * time.Second, 7 * time.Second, 2500 * time.Millisecond, 9750 * time.Millisecond},
		{2 * time.Second, 1400 * time.Millisecond, 500 * time.Millisecond, 1950 * time.Millisecond},
	} {
		s := stopBy(StoppedSignal, t0.Add(c.grace), c.grace)
		if got := s.cancelAt.Sub(t0); got != c.cancel {
			t.Errorf("grace %v: contexts end after %v, want %v", c.grace, got, c.cancel)
		}
		if got := s.leaveAt.Sub(t0); got != c.leave {
			t.Errorf("grace %v: abandons after %v, want %v", c.grace, got, c.leave)
		}
		if got := (Config{Grace: c.grace}).KillAfter(); got != c.kill {
			t.Errorf("grace %v: kills after %v, want %v", c.grace, got, c.kill)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	ok := func() Config {
		return Config{Database: func() (*pgx.ConnConfig, error) { return nil, nil }, Queues: []Queue{{Name: "q", Handler: func(context.Context, Job) error { return nil }}}}
	}
	if err := ok().Check(); err != nil {
		t.Error(err)
	}
	for text, change := range map[string]func(*Config){
		"Database: no":           func(c *Config) { c.Database = nil },
		"no queue has a handler": func(c *Config) { c.Queues = nil },
		"queue q has no handler": func(c *Config) { c.Queues[0].Handler = nil },
		"queue q is given twice": func(c *Config) { c.Queues = append(c.Queues, c.Queues[0]) },
		"Batch: -1":              func(c *Config) { c.Batch = -1 },
		"Lease: 1ms":             func(c *Config) { c.Lease = time.Millisecond },
		"Grace 2h0m0s":           func(c *Config) { c.Grace = 2 * time.Hour },
		"shorten Timeout of queue q, or lengthen MaxRuntime": func(c *Config) { c.MaxRuntime, c.Queues[0].Timeout = time.Minute, 45*time.Second },
	} {
		c := ok()
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want a word of %s, got %v", text, err)
		}
	}
	for text, change := range map[string]func(*Config){
		"MaxBackoff 1h0m0s is under Backoff 2h0m0s":            func(c *Config) { c.Backoff = 2 * time.Hour },
		"MaxBackoff 5s is under Backoff 10s":                   func(c *Config) { c.MaxBackoff = 5 * time.Second },
		"MaxBackoff 1h0m0s is under Backoff of queue q 1h0m1s": func(c *Config) { c.Queues[0].Backoff = time.Hour + time.Second },
		"MaxBackoff 999ms is under 1s":                         func(c *Config) { c.MaxBackoff, c.Backoff = 999*time.Millisecond, time.Millisecond },
		"": func(c *Config) { // nobody's base is over it
			c.MaxBackoff, c.Queues[0].Backoff, c.Lease = time.Second, time.Second, time.Second
		},
		"MaxBackoff 1s is under Backoff 2s": func(c *Config) {
			c.MaxBackoff, c.Backoff, c.Queues[0].Backoff = time.Second, 2*time.Second, time.Second
		},
	} {
		c := ok()
		change(&c)
		if said := fmt.Sprint(c.Check()); text == "" && said != "<nil>" || !strings.HasPrefix(said, text) || strings.Contains(said, "EBB_") {
			t.Errorf("want %s, got %v", text, said)
		}
	}
	c := ok()
	c.Queues[0].Backoff, c.Backoff, c.MaxRuntime, c.Grace = 3*time.Hour, 2*time.Hour, time.Minute, time.Minute
	c.NameOf = func(field, queue string) string { return "<" + queue + field + ">" }
	for _, text := range []string{"<MaxBackoff> 1h0m0s is under <Backoff> 2h", "<MaxBackoff> 1h0m0s is under <qBackoff> 3h", "<Grace> 1m0s leaves no time for a job within <MaxRuntime>"} {
		if said := fmt.Sprint(c.Check()); !strings.Contains(said, text) {
			t.Errorf("want %s in %s", text, said)
		}
	}
	c = Config{Batch: -1, Grace: -1}
	if err := c.Check(); strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("not all mistakes at once: %v", err)
	}
}
