package drain

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"
)

// decided looks at each decision of a run, from the run's own goroutine.
func (sim *simulation) decided(run *simRun, d decision, now time.Time) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	w := run.wake
	run.stopping = w.stop
	clear(run.abandoned)
	for _, t := range w.abandoned {
		run.abandoned[t.job.ID] = true
	}
	run.steps++
	if run.atOnce++; !now.Equal(run.lastStep) {
		run.atOnce, run.lastStep = 0, now
	}
	if run.atOnce > 500 || run.steps > 50_000 {
		sim.fault("%s: %d steps, %d of them at once: it does not come to an end", run.name, run.steps, run.atOnce)
		runtime.Goexit()
	}
	if run.steps%32 == int(sim.seed%32) {
		sim.judgePure(run, d, now)
	}
	if !d.waits() {
		return
	}
	if !d.until.After(now) {
		sim.fault("%s: waits for what has come", run.name)
	}
	if !d.until.Before(never) && w.underWay == nil && len(w.running) == 0 {
		sim.fault("%s: waits for nothing", run.name)
	}
	for _, t := range w.running {
		if limit := t.started.Add(t.queue.Timeout + run.config.Grace + leaveBefore); d.until.After(limit) {
			sim.fault("%s: waits until %v after the handler of %d should have returned", run.name, d.until.Sub(limit), t.job.ID)
		}
	}
	for _, t := range w.live() {
		if a := sim.attempts[simKey{run.name, t.job.ID, t.job.Attempt}]; a != nil && t.leaseEnd().After(a.leaseTo) {
			sim.fault("%s: takes the lease of %d for %v longer than it is", run.name, t.job.ID, t.leaseEnd().Sub(a.leaseTo))
		}
	}
}

// judgePure holds a step to change nothing, and to decide the same again.
func (sim *simulation) judgePure(run *simRun, d decision, now time.Time) {
	before := simDump(run.wake.state)
	again := run.wake.step(now)
	if !reflect.DeepEqual(simPlain(d), simPlain(again)) {
		sim.fault("%s: decides %+v, and then %+v", run.name, d, again)
	}
	if after := simDump(run.wake.state); before != after {
		sim.fault("%s: a step changes the state from %s\nto %s", run.name, before, after)
	}
}

// simPlain is a decision without what cannot be compared.
func simPlain(d decision) string {
	text := fmt.Sprintf("%+v", d)
	if d.send != nil {
		r := *d.send
		claim := fmt.Sprintf("%+v", r.claim)
		d.send, r.claim = nil, nil
		text = fmt.Sprintf("%+v %+v %s", d, r, claim)
	}
	return text
}

// simDump is all that a state is made of.
func simDump(s *state) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", *s)
	if s.underWay != nil {
		fmt.Fprintf(&b, "%+v\n", *s.underWay)
	}
	for _, q := range s.queues {
		fmt.Fprintf(&b, "%+v\n", *q)
	}
	for _, t := range append(s.live(), s.unsettled()...) {
		job := t.job
		job.Payload = nil
		fmt.Fprintf(&b, "%d %t %t %v %v %v %v %d %v %t %t %v %+v\n", job.ID, t.alone, t.unread, t.leased, t.lease, t.askAt, t.started, t.place, t.leaveAt,
			t.abandoned, t.leaseLost, t.ended, t.settlement)
	}
	return b.String()
}
