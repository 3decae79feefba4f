package drain

import (
	_ "embed"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A job that took its process with it before, or may have, runs alone: with nothing else in flight, so that it can spend
// no attempt but its own. The predicate is {alone} in the statements.

//go:embed claim_alone.sql
var claimAloneStatement statement

//go:embed alone_due.sql
var aloneDueStatement statement

// aloneAgain is when a run that found no job which has to run alone looks for one again, although others are due.
const aloneAgain = time.Minute

// An alone says whether a claim may bring a job that has to run alone.
type alone int

const (
	noneAlone alone = iota
	elseAlone       // where nothing else is to be had
	onlyAlone       // and nothing else
)

// The turns are how jobs that run alone and the others alternate. The first come once all is done that was due at the
// run's first claim, or half of its budget is spent.
type turns struct {
	first, half time.Time // the database's time at the first claim; when half of the budget is spent
	pastFirst   bool      // all is claimed that was due then
	due         bool      // there is a job that has to run alone
	others      bool      // it is the others' turn
	seekAt      time.Time
}

// aloneKind says which kind of job the next claim brings, and whether it may be made at all.
func (s *state) aloneKind(nothingInFlight bool) (kind alone, ok bool) {
	switch {
	case s.alone.due && !s.alone.others:
		return onlyAlone, nothingInFlight
	case nothingInFlight:
		return elseAlone, true
	}
	return noneAlone, true
}

// seeksAlone says whether a claim asks if a job that has to run alone is due although others are.
func (s *state) seeksAlone(now time.Time) bool {
	a := &s.alone
	late := a.pastFirst || !now.Before(a.half) || s.config.MaxJobs > 0 && 2*s.claims >= s.config.MaxJobs
	return late && !a.due && !now.Before(a.seekAt)
}

// runsAlone says whether the one job that runs is to have no company.
func (s *state) runsAlone() bool {
	return len(s.running) == 1 && s.running[0].alone
}

// took takes in what a claim had to say of jobs that run alone.
func (a *turns) took(c *claim, resp *response, now time.Time) {
	switch {
	case c.alone == onlyAlone:
		a.due, a.others = len(resp.claimed) > 0, true
		return
	case c.seek:
		a.due, a.seekAt = resp.aloneDue, now.Add(aloneAgain)
	}
	a.others = false
	later := func(c claimed) bool { return c.spent || c.alone || c.job.RunAt.After(a.first) }
	a.pastFirst = a.pastFirst || len(resp.claimed) > 0 && !slices.ContainsFunc(resp.claimed, func(c claimed) bool { return !later(c) })
}

func (b *batch) claimAlone(run string, c claim, to *response) {
	queues, leases := make([]string, len(c.rooms)), make([]int64, len(c.rooms))
	for i, r := range c.rooms {
		queues[i], leases[i] = r.queue, r.lease.Microseconds()
	}
	b.queue(claimAloneStatement, pgx.StrictNamedArgs{
		"queues": queues, "leases": leases, "run": run, "skip": ids(c.skip), "only": c.only, "bytes": int64(maxPayloads),
	}).Query(func(rows pgx.Rows) error { return readClaimed(rows, run, true, to) })
}

func (b *batch) aloneDue(c claim, to *bool) {
	b.queue(aloneDueStatement, pgx.StrictNamedArgs{"queues": c.queues(), "skip": ids(c.skip)}).
		QueryRow(func(row pgx.Row) error { return row.Scan(to) })
}
