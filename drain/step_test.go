package drain

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

var t0 = time.Unix(1_000_000, 0)

// A plan is a state whose decisions the tests look at.
type plan struct{ *state }

func newPlan(change func(*Config)) plan {
	c := Config{Queues: []Queue{{Name: "q"}}, Started: t0}
	if change != nil {
		change(&c)
	}
	c = c.WithDefaults()
	s := newState(c, t0.Add(c.MaxRuntime))
	s.took = 5 * time.Millisecond
	return plan{s}
}

// wait adds tasks that wait to start, claimed a while ago.
func (p plan) wait(n int, queue string, ago time.Duration) {
	q := p.queue(queue)
	for range n {
		p.add(&task{job: Job{ID: int64(len(p.inFlight()) + 1)}, queue: q, leased: t0.Add(-ago), lease: p.config.lease(&q.Queue)})
	}
}

// startAll starts what may start.
func (p plan) startAll(now time.Time) int {
	start, _ := p.startable(now)
	for _, t := range start {
		p.start(t, now)
	}
	return len(start)
}

// end takes the end of a task that runs.
func (p plan) endOne(now time.Time) {
	t := p.running[0]
	p.leave(t)
	p.finish(t, now, settlement{id: t.job.ID, status: "done"})
}

// next is the first decision that is no start or release, as the loop comes to it.
func (p plan) next(now time.Time) decision {
	for {
		d := p.step(now)
		if len(d.start) > 0 {
			p.startAll(now)
			continue
		}
		for _, t := range d.release {
			p.dropWaiting(t)
			p.finish(t, now, unstarted(t.job))
		}
		if len(d.release) == 0 {
			return d
		}
	}
}

func TestClaimSize(t *testing.T) {
	for _, c := range []struct {
		name                        string
		batch, concurrency, maxJobs int
		running                     int
		want                        int // most; 0: no claim
	}{
		{"nothing in flight", 10, 10, 0, 0, 10},
		{"slots busy", 10, 10, 0, 10, 0},
		{"one slot free", 10, 10, 0, 9, 1},
		{"more slots than batch", 10, 25, 0, 10, 10},
		{"nearly full", 10, 25, 0, 22, 3},
		{"one at a time", 1, 10, 0, 4, 1},
		{"one slot, whole batches", 10, 1, 0, 0, 10},
		{"budget of jobs", 10, 10, 7, 0, 7},
	} {
		p := newPlan(func(cf *Config) { cf.Batch, cf.Concurrency, cf.MaxJobs = c.batch, c.concurrency, c.maxJobs })
		p.wait(c.running, "q", 0)
		if n := p.startAll(t0); n != c.running {
			t.Fatalf("%s: %d started", c.name, n)
		}
		got := 0
		if claim := p.claim(t0); claim != nil {
			got = claim.most
		}
		if got != c.want {
			t.Errorf("%s: claims %d, want %d", c.name, got, c.want)
		}
	}
}

// No claim is made while something claimed waits to start, or while a job runs alone.
func TestNoClaimWhileJobsWait(t *testing.T) {
	p := newPlan(func(c *Config) { c.Concurrency = 1 })
	p.wait(10, "q", 0)
	p.startAll(t0)
	p.endOne(t0)
	if p.claim(t0) != nil {
		t.Error("claims while nine wait")
	}
	p = newPlan(nil)
	p.wait(1, "q", 0)
	p.queues[0].waiting[0].alone = true
	p.startAll(t0)
	p.wait(1, "q", 0)
	if p.claim(t0) != nil || p.startAll(t0) != 0 {
		t.Error("something joins a job that has to run alone")
	}
}

// A queue with a limit of its own takes no slots from the others, and whole batches where it is alone.
func TestLimitedQueue(t *testing.T) {
	p := newPlan(func(c *Config) { c.Queues = []Queue{{Name: "a", Concurrency: 2}, {Name: "b"}} })
	if rooms := p.claim(t0).rooms; len(rooms) != 2 || rooms[0].jobs != 2 || rooms[1].jobs != 10 {
		t.Errorf("rooms %+v", rooms)
	}
	p.wait(2, "a", 0)
	p.startAll(t0)
	if rooms := p.claim(t0).rooms; len(rooms) != 1 || rooms[0].queue != "b" {
		t.Errorf("rooms with two running: %+v", rooms)
	}
	p = newPlan(func(c *Config) { c.Queues = []Queue{{Name: "a", Concurrency: 1}} })
	if rooms := p.claim(t0).rooms; rooms[0].jobs != 10 {
		t.Errorf("rooms of a queue alone: %+v", rooms)
	}
}

func TestWhenToSettle(t *testing.T) {
	ms := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }
	settles := func(p plan, now time.Time) bool {
		req := p.next(now).send
		return req != nil && len(req.settles) > 0
	}
	p := newPlan(nil)
	p.wait(10, "q", 0)
	p.startAll(t0)
	p.endOne(t0)
	if settles(p, ms(4)) || !settles(p, ms(5)) {
		t.Error("an idle slot waits for others other than the last exchange took")
	}
	for len(p.running) > 0 {
		p.endOne(ms(1))
	}
	if req := p.next(ms(1)).send; req == nil || len(req.settles) != 10 || req.claim == nil || req.claim.most != 10 {
		t.Errorf("all finished: %+v", req)
	}

	p = newPlan(func(c *Config) { c.Concurrency = 1 })
	p.wait(10, "q", 0)
	p.startAll(t0)
	p.endOne(t0)
	p.startAll(t0)
	if settles(p, ms(499)) || !settles(p, ms(500)) {
		t.Error("with others of the batch waiting, a finished job is not settled after half a second")
	}
}

func TestWhatStopReleases(t *testing.T) {
	p := newPlan(func(c *Config) { c.Concurrency = 1 })
	p.wait(10, "q", 0)
	p.startAll(t0)
	p.stop = stopBy(StoppedSignal, t0.Add(20*time.Second), 20*time.Second)
	req := p.next(t0).send
	if req == nil || len(req.settles) != 9 || req.claim != nil || !req.settles[0].settlement.giveBack || req.settles[0].settlement.delay >= 0 {
		t.Errorf("%+v", req)
	}
}

// Normally no lease is ever extended; one that is shorter than the job is, before half of it is gone.
func TestWhenToExtend(t *testing.T) {
	p := newPlan(nil)
	p.wait(1, "q", 0)
	p.startAll(t0)
	p.short = true
	if d := p.next(t0); d.send != nil || !d.until.Equal(t0.Add(5*time.Minute+20*time.Second)) {
		t.Errorf("%+v", d)
	}
	p = newPlan(func(c *Config) { c.Lease = 10 * time.Second })
	p.wait(1, "q", 0)
	p.startAll(t0)
	p.short = true
	if d := p.next(t0); !d.until.Equal(t0.Add(4 * time.Second)) {
		t.Errorf("extends after %v", d.until.Sub(t0))
	}
	if req := p.next(t0.Add(4 * time.Second)).send; req == nil || len(req.extends) != 1 || !req.orphans || req.extends[0].lease != 10*time.Second {
		t.Errorf("%+v", req)
	}
	// A job that waited in hand starts only while its lease covers it.
	p = newPlan(nil)
	p.wait(1, "q", 2*time.Minute)
	if p.startAll(t0) != 0 {
		t.Error("starts under a lease that does not cover it")
	}
	if req := p.next(t0).send; req == nil || len(req.extends) != 1 {
		t.Errorf("%+v", req)
	}
}

// A lease is counted from when the exchange that confirmed it was sent, and a lost one is not asked for again.
func TestWhatAnExtensionSays(t *testing.T) {
	p := newPlan(func(c *Config) { c.Lease = 10 * time.Second; c.Concurrency = 1 })
	p.wait(2, "q", 0)
	p.startAll(t0)
	w := &wake{state: p.state}
	w.running[0].cancel = func(error) {}
	sent := t0.Add(4 * time.Second)
	w.takeExtended(&response{sent: sent, extended: map[int64]standing{1: gone, 2: extended}})
	if got := w.queues[0].waiting[0].leaseEnd(); !got.Equal(sent.Add(10 * time.Second)) {
		t.Errorf("the lease ends %v after it was asked for", got.Sub(sent))
	}
	if !w.extendAt(w.running[0]).Equal(never) {
		t.Error("a lost lease is asked for again")
	}
	w.config.Log = slog.New(slog.DiscardHandler)
	w.takeExtended(&response{extended: map[int64]standing{2: gone}})
	if len(w.queues[0].waiting) != 0 || w.report.Lost != 1 {
		t.Errorf("a waiting job whose lease is lost still waits: %+v", w.report)
	}
}

func TestNothingStartsThatCouldNotEndInTime(t *testing.T) {
	p := newPlan(func(c *Config) {
		c.MaxRuntime, c.Grace = 20*time.Second, 5*time.Second
		c.Queues = []Queue{{Name: "long", Timeout: 10 * time.Second}, {Name: "short", Timeout: 2 * time.Second}}
	})
	for _, c := range []struct {
		at   time.Duration
		want string
	}{{0, "long short"}, {5 * time.Second, "long short"}, {6 * time.Second, "short"}, {14 * time.Second, ""}} {
		var names []string
		for _, r := range p.rooms(t0.Add(c.at)) {
			names = append(names, r.queue)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("after %v: %q, want %q", c.at, got, c.want)
		}
	}
	if d := p.next(t0.Add(14 * time.Second)); d.over != StoppedTime {
		t.Errorf("nothing fits, but %+v", d)
	}
}

// What a job that starts wants by its times is looked at, however late the others want something.
func TestAStartIsWatched(t *testing.T) {
	p := newPlan(func(c *Config) {
		c.Queues = []Queue{{Name: "long", Timeout: 10 * time.Minute}, {Name: "short", Timeout: time.Second}}
	})
	p.wait(1, "long", 0)
	p.short, p.lookAt = true, p.next(t0).lookAt
	p.wait(1, "short", 0)
	d := p.next(t0)
	if want := t0.Add(time.Second + p.config.Grace); d.until.After(want) {
		t.Errorf("looks again %v too late", d.until.Sub(want))
	}
	p.lookAt = d.lookAt
	if d := p.next(t0.Add(time.Second + p.config.Grace)); len(d.overdue) != 1 || d.overdue[0].queue.Name != "short" {
		t.Errorf("%+v", d)
	}
}

// A step changes nothing: asked again it says the same.
func TestAStepChangesNothing(t *testing.T) {
	p := newPlan(nil)
	p.wait(20, "q", 2*time.Minute)
	for range 3 {
		if d := p.step(t0); d.send == nil || len(d.send.extends) != 20 || d.send.claim != nil {
			t.Errorf("%+v", d)
		}
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
