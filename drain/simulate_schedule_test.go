package drain

import (
	"math/rand/v2"
	"time"
)

// A schedule is all that chance decides in a simulation, drawn from one seed.
type schedule struct {
	seed uint64
	calm bool // nothing goes wrong, and all handlers are fast
	rows []simRow
	runs []simPlan

	outages []simSpan // no server
	locks   []simSpan // somebody has the table locked
	hands   []simHand // what operators do

	ways   []simWay // of handlers, to draw from
	seldom int      // one handler in so many is not simply fast
}

// A simPlan is one run's part.
type simPlan struct {
	config   Config
	starts   time.Duration // after the beginning
	signal   time.Duration // after its start; 0: none
	signalIn int           // in this exchange; -1: in none
	faults   []simFault    // by exchange; those after are as the last
	refused  bool          // the server lets nobody in
}

// A simSpan is a time from the beginning.
type simSpan struct{ from, to time.Duration }

// A simHand is something done to a row by hand.
type simHand struct {
	at    time.Duration
	what  string // lock, cancel, retry
	id    int64
	lasts time.Duration
}

// A simFault is what happens to one exchange.
type simFault struct {
	before, after time.Duration // on the way there, and back
	what          simTrouble
	late          time.Duration // how much later it is committed, for lateCommit
	commits       bool          // where the client gives up before: whether the server goes on
	signal        time.Duration // after it began, where the plan says that a signal comes in it
}

type simTrouble int

const (
	noTrouble simTrouble = iota
	lostBefore
	lostAnswer
	lateCommit // the connection is lost, and the transaction committed after that
	deadlocked
	strainedOut
	tooLong // the statement's timeout
	refusedForGood
)

// A simWay is how a handler goes.
type simWay int

const (
	isFast simWay = iota
	isSlow
	fails
	panics
	exits
	failsForGood
	retriesAfter
	suspends
	isMisconfigured
	ignoresForAWhile
	ignoresForEver
	finishesAnyhow // when its context ends, it has succeeded
	completes
	completesLate
	rollsBack
	simWays
)

type simDice struct{ *rand.Rand }

func (d simDice) chance(of float64) bool { return d.Float64() < of }

// some is a time of about that, never a round one.
func (d simDice) some(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64(max(to-from, 1)))) + time.Duration(d.IntN(1000))
}

func pick[T any](d simDice, of ...T) T { return of[d.IntN(len(of))] }

func newSchedule(seed uint64) *schedule {
	const s, ms = time.Second, time.Millisecond
	d := simDice{rand.New(rand.NewPCG(seed, 1))}
	p := &schedule{seed: seed, calm: d.chance(0.08)}
	if p.calm {
		p.calmDown(d)
		return p
	}
	p.seldom = pick(d, 1, 2, 2, 5, 20)
	for w := range simWays {
		if w == isFast || d.chance(0.4) {
			p.ways = append(p.ways, w)
		}
	}
	for range pick(d, 1, 1, 1, 2) {
		p.runs = append(p.runs, newSimPlan(d))
	}
	if len(p.runs) > 1 {
		p.runs[1].starts = d.some(0, pick(d, s, 30*s))
	}
	config := p.runs[0].config
	foul := d.chance(0.25) // triggers
	for i := range pick(d, 0, 3, 10, 30, 30, 60) {
		p.rows = append(p.rows, newRow(d, int64(i+1), config, foul))
	}
	if d.chance(0.2) {
		for range pick(d, 1, 1, 2) {
			from := d.some(0, pick(d, 2*s, 20*s))
			p.outages = append(p.outages, simSpan{from, from + d.some(0, pick(d, s, 10*s, 100*s))})
		}
	}
	if d.chance(0.15) {
		from := d.some(0, 10*s)
		p.locks = append(p.locks, simSpan{from, from + d.some(0, pick(d, 2*s, 10*s, 80*s))})
	}
	if len(p.rows) > 0 && d.chance(0.3) {
		for range pick(d, 1, 3, 10) {
			id, at := int64(1+d.IntN(len(p.rows))), d.some(0, pick(d, 2*s, 30*s))
			p.hands = append(p.hands, simHand{at, pick(d, "lock", "lock", "cancel", "retry"), id, d.some(0, pick(d, s, 20*s))})
			if d.chance(0.3) {
				p.hands = append(p.hands, simHand{at + d.some(0, 5*s), "retry", id, 0})
			}
		}
	}
	return p
}

// calmDown is the schedule of a good day: all that is asked for is that it costs little.
func (p *schedule) calmDown(d simDice) {
	const s, ms = time.Second, time.Millisecond
	p.ways, p.seldom = []simWay{isFast}, 1000
	c := Config{Queues: []Queue{{Name: "a"}}, Batch: pick(d, 10, 10, 20, 50), Concurrency: pick(d, 2, 10, 20), MaxRuntime: time.Hour}
	plan := simPlan{config: c, signalIn: -1}
	for range 300 {
		plan.faults = append(plan.faults, simFault{before: d.some(ms, 5*ms), after: d.some(ms, 5*ms)})
	}
	p.runs = []simPlan{plan}
	for i := range d.IntN(120) {
		p.rows = append(p.rows, simRow{id: int64(i + 1), queue: "a", status: "queued", max: 5, runAt: simEpoch.Add(-d.some(0, 100*s).Truncate(time.Microsecond))})
	}
}

// simEpoch is when a bubble's clock begins.
var simEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newSimPlan(d simDice) simPlan {
	const s, ms = time.Second, time.Millisecond
	c := Config{
		Batch: pick(d, 1, 2, 3, 10, 10, 50), Concurrency: pick(d, 1, 2, 3, 10, 20), MaxJobs: pick(d, 0, 0, 0, 0, 1, 7, 20),
		Lease: pick(d, 0, 0, s, 2*s, 5*s, 30*s), Grace: pick(d, s, 2*s, 5*s, 20*s), Backoff: pick(d, s, 3*s, 10*s), MaxBackoff: pick(d, 5*s, 60*s, 3600*s),
		Linger: pick(d, 0, 0, 0, 5*s, 60*s), ConnectTimeout: pick(d, 2*s, 10*s, 60*s),
	}
	if d.chance(0.2) {
		c.Notice = d.some(c.Grace/4, c.Grace)
	}
	longest := time.Duration(0)
	for _, name := range []string{"a", "b", "c"}[:pick(d, 1, 1, 2, 3)] {
		q := Queue{Name: name, Timeout: d.some(pick(d, 500*ms, 2*s, 10*s), pick(d, 10*s, 40*s)), Concurrency: pick(d, 0, 0, 1, 2, 5), Backoff: pick(d, 0, 0, 2*s)}
		longest = max(longest, q.Timeout)
		c.Queues = append(c.Queues, q)
	}
	c.MaxRuntime = longest + c.Grace + d.some(s, pick(d, 10*s, 60*s, 600*s))
	p := simPlan{config: c, signalIn: -1}
	switch d.IntN(6) {
	case 0:
		p.signal = d.some(ms, pick(d, 100*ms, 5*s, 60*s))
	case 1:
		p.signalIn = pick(d, 0, 0, 1, 2, d.IntN(20))
	}
	p.refused = d.chance(0.02)
	near, far := pick(d, 200*time.Microsecond, 5*ms, 50*ms), pick(d, 2*ms, 20*ms, 500*ms)
	trouble := pick(d, 0, 0, 0.02, 0.1, 0.3, 0.6)
	kinds := []simTrouble{}
	for k := lostBefore; k <= strainedOut; k++ {
		if d.chance(0.5) && k != lateCommit || d.chance(0.1) {
			kinds = append(kinds, k)
		}
	}
	if d.chance(0.1) {
		kinds = append(kinds, tooLong)
	}
	if d.chance(0.1) {
		kinds = append(kinds, refusedForGood)
	}
	slow := pick(d, 0, 0, 0.05, 0.3)
	most := d.IntN(400)
	for i := range 400 {
		f := simFault{before: d.some(near, near+far), after: d.some(near, near+far), commits: d.chance(0.6), signal: d.some(0, pick(d, near+far, 2*s))}
		if d.chance(slow) && i < most {
			if late := d.some(0, pick(d, s, 5*s, 20*s, 90*s)); d.chance(0.5) {
				f.before += late
			} else {
				f.after += late
			}
		}
		if len(kinds) > 0 && d.chance(trouble) && i < most {
			f.what, f.late = pick(d, kinds...), d.some(0, pick(d, 50*ms, 2*s, 20*s))
		}
		p.faults = append(p.faults, f)
	}
	if d.chance(0.05) { // somebody takes the role's rights away
		for i := d.IntN(20); i < len(p.faults); i++ {
			p.faults[i].what = refusedForGood
		}
	}
	if p.signalIn >= 0 && d.chance(0.5) {
		f := &p.faults[p.signalIn]
		f.what = pick(d, lostAnswer, lostBefore, noTrouble)
		f.after += d.some(0, 3*s)
	}
	return p
}

func newRow(d simDice, id int64, c Config, foul bool) simRow {
	const s, ms = time.Second, time.Millisecond
	at := func(from, to time.Duration) time.Time {
		return simEpoch.Add(d.some(from, to).Truncate(time.Microsecond))
	}
	r := simRow{id: id, queue: pick(d, "a", "a", "b", "c", "d"), status: "queued", max: pick(d, 5, 5, 3, 1, 1), runAt: at(-100*s, 0)}
	if d.chance(0.6) {
		r.queue = pick(d, c.Queues...).Name
	}
	if d.chance(0.1) {
		r.runAt = at(0, 40*s)
	}
	r.attempts, r.lost = pick(d, 0, 0, 0, 0, 1, 2, 3), pick(d, 0, 0, 0, 0, 0, 0, 1, 2, 3)
	if r.attempts >= r.max && d.chance(0.8) {
		r.attempts = r.max - 1
	}
	switch {
	case d.chance(0.1):
		r.status, r.lockedBy, r.attempts = "running", "gone", max(r.attempts, 1)
		if d.chance(0.8) {
			r.lockedUntil = at(-20*s, pick(d, 0, 10*s))
		}
		r.max = max(r.max, r.attempts)
	case d.chance(0.03):
		r.status = pick(d, "done", "failed")
	}
	switch d.IntN(40) {
	case 0:
		r.size = maxPayloads + 1 + d.IntN(900)
	case 1, 2:
		r.size = 3 << 20
	}
	if foul && d.chance(0.2) {
		if what := pick(d, "claim", "extend", "settle"); d.chance(0.5) {
			r.refuses = what
		} else {
			r.suppresses = what
		}
	}
	return r
}
