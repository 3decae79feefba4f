package drain

import (
	"context"
	"errors"
	"slices"
	"time"
)

type simKey struct {
	run     string
	id      int64
	attempt int
}

// A simAttempt is what truly became of one claim of a job.
type simAttempt struct {
	simKey
	run     *simRun
	row     simRow    // as it was claimed
	leaseTo time.Time // the latest end that was ever written
	leased  time.Time // when
	heard   bool      // the claim's answer came
	told    bool      // the run knows that the row is not its own any more
	late    bool      // it was claimed by an exchange that its client had given up

	started, returned time.Time
	contextEnd        time.Time
	cause             error
	way               simWay
	err               error
	tried             bool

	ended   string // what took the row from it: settle, orphan, reap, complete, a hand
	endedAt time.Time
	counts  outcome // of its settlement
}

func (a *simAttempt) lives() bool { return !a.started.IsZero() && a.returned.IsZero() }

func (a *simAttempt) mustRunAlone() bool {
	return a.row.lost >= 2 || a.row.lost >= 1 && a.attempt >= a.row.max
}

func (sim *simulation) runOf(name string) *simRun {
	for _, run := range sim.runs {
		if run.name == name {
			return run
		}
	}
	return nil
}

// committed judges a change of a row that has become true, and keeps it in mind.
func (sim *simulation) committed(c simChange) {
	now := simNow()
	if sim.late {
		sim.touched[c.after.id], sim.overtaken[c.after.id] = true, true
	}
	sim.noteLocked("    %d: %s %s, attempts %d, lost %d, run %s", c.after.id, c.kind, c.after.status, c.after.attempts, c.after.lost, c.after.lockedBy)
	if c.after.attempts < 0 || c.after.attempts > c.after.max && c.after.attempts > c.before.attempts {
		sim.fault("%d has %d attempts of %d", c.after.id, c.after.attempts, c.after.max)
	}
	if c.kind == "reap" || c.kind == "spent" {
		if sim.reapedBy[c.after.id] == nil {
			sim.reapedBy[c.after.id] = map[string]bool{}
		}
		sim.reapedBy[c.after.id][c.run] = true
	}
	if c.kind == "claim" {
		run := sim.runOf(c.run)
		for _, a := range sim.all {
			if a.id == c.after.id && a.run == run && a.ended == "settle" && a.counts == released && !sim.late {
				sim.fault("%d is claimed again by the run that released it", a.id)
			}
		}
		a := &simAttempt{simKey: simKey{c.run, c.after.id, c.after.attempts}, run: run, row: c.after, leaseTo: c.after.lockedUntil, leased: now, late: sim.late}
		sim.attempts[a.simKey] = a
		sim.all = append(sim.all, a)
		return
	}
	a := sim.attempts[simKey{c.before.lockedBy, c.before.id, c.before.attempts}]
	if a == nil || c.before.status != "running" {
		return
	}
	if c.kind == "extend" {
		a.leaseTo, a.leased = later(a.leaseTo, c.after.lockedUntil), now
		return
	}
	a.ended, a.endedAt = c.kind, now
	switch c.kind {
	case "orphan":
		if !sim.late && !a.started.IsZero() {
			sim.fault("%d is given back as if it had not started", a.id)
		}
	case "settle":
		a.counts = c.settlement.counts
		sim.judgeSettlement(a, c, now)
	case "reap":
		if now.Before(a.leaseTo) {
			sim.fault("%d is reaped before its lease ended", a.id)
		}
	}
}

// judgeSettlement compares what is written for a job with what its handler came to.
func (sim *simulation) judgeSettlement(a *simAttempt, c simChange, now time.Time) {
	type end struct {
		status         string
		attempts, lost int
		least          time.Duration // until it is due; -1: as before
	}
	q := a.run.wake.queue(a.row.queue)
	base := max(q.Backoff, time.Second)
	want := end{"done", a.attempt, a.row.lost, -1}
	failure := func(least time.Duration) {
		want.status, want.least = "queued", least
		if a.attempt >= a.row.max {
			want.status, want.least = "failed", -1
		}
	}
	withoutVerdict := func() {
		if a.row.lost < 3 {
			want = end{"queued", a.attempt - 1, a.row.lost, base}
		} else {
			failure(base)
		}
		want.lost = a.row.lost + 1
	}
	growing := min(q.Backoff<<min(a.attempt, 20), a.run.config.MaxBackoff)
	v := verdictOf(a.err)
	switch {
	case a.started.IsZero():
		want = end{"queued", a.attempt - 1, a.row.lost, -1}
	case a.returned.IsZero():
		sim.fault("%d is settled as %s, and its handler still works", a.id, c.after.status)
		return
	case a.tried && a.err == nil:
		failure(max(growing, time.Second))
	case errors.Is(a.cause, ErrLeaseLost) && !a.tried:
		sim.fault("%d is settled as %s, though its handler was told that the lease is lost", a.id, c.after.status)
		return
	case a.err == nil:
	case v != nil && v.kind == verdictFail:
		want.status = "failed"
	case v != nil && v.kind == verdictSuspend:
		want = end{"queued", a.attempt - 1, a.row.lost, base}
	case v != nil && v.kind == verdictMisconfigured:
		withoutVerdict()
	case v != nil && v.kind == verdictRetryAfter:
		failure(max(growing, v.delay, time.Second))
	case errors.Is(a.cause, ErrStopped):
		withoutVerdict()
	default:
		failure(max(growing, time.Second))
	}
	got := end{c.after.status, c.after.attempts, c.after.lost, -1}
	if !c.after.runAt.Equal(c.before.runAt) {
		got.least = c.after.runAt.Sub(now)
	}
	if want.least >= 0 {
		want.least = want.least.Truncate(time.Microsecond)
	}
	if got != want && !sim.overtaken[a.id] {
		sim.fault("%d is settled as %+v, where its handler's end asks for %+v", a.id, got, want)
	}
}

// heard takes in that a run has an answer.
func (sim *simulation) heard(run *simRun, resp response) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	for _, a := range run.db.seen {
		a.told = true
	}
	for _, c := range resp.claimed {
		if a := sim.attempts[simKey{run.name, c.job.ID, c.job.Attempt}]; a != nil {
			a.heard = true
		}
	}
}

// looked takes in which rows a run is going to find in other hands, if the answer comes.
func (sim *simulation) looked(run *simRun, req request) {
	run.db.seen = nil
	for _, a := range sim.all {
		if a.run == run && a.ended != "" && a.ended != "complete" && slices.Contains(req.lookup, a.id) {
			run.db.seen = append(run.db.seen, a)
		}
	}
}

// asks judges what a run asks for.
func (sim *simulation) asks(run *simRun, req request) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	for _, h := range req.extends {
		if a := sim.attempts[simKey{run.name, h.id, h.attempt}]; a != nil && a.told && !sim.overtaken[a.id] {
			sim.fault("%s: asks for the lease of %d again, which is lost", run.name, a.id)
		}
	}
}

// start judges the start of a handler.
func (sim *simulation) start(run *simRun, job Job) (*simAttempt, simDice) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	nth := sim.starts[job.ID]
	sim.starts[job.ID]++
	now := time.Now()
	sim.noteLocked("%s: start %d.%d", run.name, job.ID, job.Attempt)
	a := sim.attempts[simKey{run.name, job.ID, job.Attempt}]
	switch {
	case sim.foreign:
		a = &simAttempt{simKey: simKey{run.name, job.ID, job.Attempt}, run: run, leaseTo: never, row: simRow{id: job.ID, queue: job.Queue, max: job.MaxAttempts, lost: job.lost}}
		sim.all = append(sim.all, a)
	case a == nil:
		sim.fault("%d.%d starts, and was never claimed", job.ID, job.Attempt)
		a = &simAttempt{simKey: simKey{run.name, job.ID, job.Attempt}, run: run, leaseTo: never}
	case sim.overtaken[job.ID]:
	case !a.started.IsZero():
		sim.fault("%d.%d starts twice for one claim", job.ID, job.Attempt)
	case a.ended == "settle" || a.ended == "orphan":
		sim.fault("%d.%d starts, and was given back", job.ID, job.Attempt)
	case !now.Before(a.leaseTo):
		sim.fault("%d.%d starts without a lease", job.ID, job.Attempt)
	}
	a.started = now
	if run.stopping.begun() {
		sim.fault("%d starts while its run stops", job.ID)
	}
	if q := run.wake.queue(job.Queue); now.Add(q.Timeout + run.config.Grace).After(run.wake.deadline) {
		sim.fault("%d starts, and may not end within the budget", job.ID)
	}
	working, same := 0, 0
	for _, b := range sim.all {
		if !b.lives() || !b.run.ended.IsZero() {
			continue
		}
		if b.run == run {
			working++
			abandoned := run.abandoned[b.id]
			same += count(b.row.queue == job.Queue && !abandoned)
			if b != a && !abandoned && (a.mustRunAlone() || b.mustRunAlone()) {
				sim.fault("%d starts beside %d, and one of them has to run alone", job.ID, b.id)
			}
		}
		if b != a && b.id == a.id && b.run == run {
			sim.fault("%d starts while its handler in this run lives", job.ID)
		}
		if b != a && b.id == a.id && b.ended != "cancel" && !sim.touched[b.id] && b.row.refuses == "" && b.row.suppresses == "" && b.run.db.lastTrouble.Before(b.leased) {
			sim.fault("%d starts while its handler in %s lives", job.ID, b.simKey.run)
		}
	}
	if working > run.config.Concurrency || same > run.wake.queue(job.Queue).Concurrency {
		sim.fault("%d handlers work, %d of them on queue %s", working, same, job.Queue)
	}
	return a, simHandlerDice(sim.seed, job.ID, nth)
}

// contextEnded judges when and why a handler's context ended.
func (sim *simulation) contextEnded(a *simAttempt, cause error) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	if !a.returned.IsZero() {
		return
	}
	a.contextEnd = time.Now()
	if sim.verbose { // several end at once, in any order
		sim.noteLocked("%s: context of %d.%d ended: %v", a.simKey.run, a.id, a.attempt, cause)
	}
	sim.inTime(a, "its context ends")
}

func (sim *simulation) inTime(a *simAttempt, what string) {
	now := time.Now()
	if now.After(a.leaseTo) && !sim.overtaken[a.id] {
		sim.fault("%d: %s only %v after its lease", a.id, what, now.Sub(a.leaseTo))
	}
	if q := a.run.wake.queue(a.row.queue); now.After(a.started.Add(q.Timeout)) {
		sim.fault("%d: %s only %v after its timeout", a.id, what, now.Sub(a.started.Add(q.Timeout)))
	}
}

// returned takes in what a handler came to.
func (sim *simulation) returned(a *simAttempt, ctx context.Context, way simWay, err error) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.noteLocked("%s: end %d.%d %v", a.simKey.run, a.id, a.attempt, err)
	if ctx.Err() == nil {
		sim.inTime(a, "it returns with its context alive")
	}
	a.returned, a.cause, a.way, a.err = time.Now(), context.Cause(ctx), way, err
	a.tried = slices.Contains([]simWay{completes, completesLate, rollsBack}, way)
}
