package drain

import (
	"slices"
	"time"
)

// judge looks at what is left when all is over.
func (sim *simulation) judge() {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	for _, run := range sim.runs {
		sim.judgeSum(run)
		sim.judgeTimes(run)
		if !sim.foreign {
			sim.judgeLeft(run)
			sim.judgeCounts(run)
		}
		sim.judgeCost(run)
	}
}

func (sim *simulation) judgeSum(run *simRun) {
	r := run.report
	if sum := r.Done + r.Retried + r.Failed + r.Released + r.Lost + r.Abandoned; sum != r.Claimed {
		sim.fault("%s: claimed %d, but the sum is %d", run.name, r.Claimed, sum)
	}
	if (run.err != nil) != (r.Error != "") || (run.err != nil) != (r.Stopped == StoppedError) {
		sim.fault("%s: stopped %s with error %q, %v", run.name, r.Stopped, r.Error, run.err)
	}
}

// judgeTimes holds a run to its grace and its budget.
func (sim *simulation) judgeTimes(run *simRun) {
	w := run.wake
	limit := w.deadline.Add(-run.config.Grace + run.config.ConnectTimeout)
	limit = later(limit, w.deadline.Add(recordTime))
	if w.stop.begun() {
		limit = earlier(w.stop.endAt, w.deadline).Add(recordTime)
	}
	if w.stop.reason == StoppedSignal && !run.signalled.IsZero() {
		limit = earlier(limit, run.signalled.Add(min(run.config.Grace, run.config.Notice)+recordTime))
	}
	if run.ended.After(limit) {
		sim.fault("%s: ends %v after its grace", run.name, run.ended.Sub(limit))
	}
}

// judgeLeft looks for rows that still run under a run that is over.
func (sim *simulation) judgeLeft(run *simRun) {
	db := run.db
	if !run.report.Looked {
		if db.committed > 0 && !db.lookedBack {
			sim.fault("%s: was not recorded", run.name)
		}
		return
	}
	for _, r := range sim.table.sorted() {
		if r.status != "running" || r.lockedBy != run.name || db.late > 0 || sim.sticks || sim.touched[r.id] || r.refuses != "" || r.suppresses != "" {
			continue
		}
		if !slices.Contains(run.wake.lost, r.id) && !slices.ContainsFunc(run.wake.abandoned, func(t *task) bool { return t.job.ID == r.id }) {
			sim.fault("%s: %d still runs under it", run.name, r.id)
		}
	}
}

// judgeCounts compares the report with what truly happened.
func (sim *simulation) judgeCounts(run *simRun) {
	if run.db.late > 0 {
		return
	}
	r, db := run.report, run.db
	strict := r.Looked && db.endLooks == 0
	got := map[outcome]int{completed: r.Done, retried: r.Retried, failed: r.Failed, released: r.Released}
	is := map[outcome]int{}
	started, heard, foul := 0, 0, 0
	for _, a := range sim.all {
		if a.run != run {
			continue
		}
		started += count(!a.started.IsZero())
		heard += count(a.heard)
		switch {
		case slices.ContainsFunc(run.wake.abandoned, func(t *task) bool { return t.job.ID == a.id && t.job.Attempt == a.attempt }): // whatever came of it then
		case a.ended == "complete":
			is[completed]++
		case a.ended == "settle":
			is[a.counts]++
		}
		if sim.touched[a.id] || a.tried && db.timeouts > 0 || a.ended == "reap" && a.row.max == 1 || len(sim.runs) > 1 && db.unheard > 0 {
			foul++
		}
	}
	names := map[outcome]string{completed: "done", retried: "retried", failed: "failed", released: "released"}
	for _, o := range []outcome{completed, retried, failed, released} {
		if got[o] > is[o]+foul || strict && foul == 0 && got[o] != is[o] {
			sim.fault("%s: reports %d as %s, in truth %d are", run.name, got[o], names[o], is[o])
		}
	}
	if r.Claimed < started || r.Claimed > heard {
		sim.fault("%s: reports %d as claimed, but %d started and the answers told of %d", run.name, r.Claimed, started, heard)
	}
	if len(sim.runs) > 1 && db.unheard > 0 { // another run may have written over what it would be recognized by
		foul++
	}
	reaped := 0
	for id, by := range sim.reapedBy {
		reaped += count(by[run.name])
		foul += count(sim.touched[id])
	}
	if r.Reaped > reaped || strict && foul == 0 && r.Reaped != reaped {
		sim.fault("%s: reports %d as reaped, in truth %d are", run.name, r.Reaped, reaped)
	}
}

// judgeCost holds a run to few exchanges.
func (sim *simulation) judgeCost(run *simRun) {
	r := run.report
	if sim.calm {
		if most := (len(sim.rows)+8)/9 + 4; r.Exchanges > most || r.Lost+r.Released+r.Retried > 0 || r.Done != len(sim.rows) {
			sim.fault("%s: on a good day %d exchanges for %d fast jobs, %d done", run.name, r.Exchanges, len(sim.rows), r.Done)
		}
		return
	}
	seconds := int(run.ended.Sub(simEpoch.Add(run.starts)) / time.Second)
	if most := 100 + 10*len(sim.rows) + 16*seconds; r.Exchanges > most {
		sim.fault("%s: %d exchanges for %d rows in %d s", run.name, r.Exchanges, len(sim.rows), seconds)
	}
}
