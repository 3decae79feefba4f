package drain

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed suspects.sql
var suspectsStatement statement

// sample is how many rows of a kind are tried at the least, the last of them included, before an error that they all share
// counts as nobody's fault.
const sample = 4

// mostAlike is how many rows are tried that all fail alike.
const mostAlike = 100

// The suspects are the rows that a reap or a claim may have failed on: the first ones, and the last.
type suspects struct{ expired, due []int64 }

func (b *batch) suspects(c claim, to *suspects) {
	b.queue(suspectsStatement, pgx.StrictNamedArgs{"queues": c.queues(), "most": c.most, "skip": ids(c.skip)}).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var id int64
				var expired bool
				if err := rows.Scan(&id, &expired); err != nil {
					return err
				}
				list := &to.due
				if expired {
					list = &to.expired
				}
				if !slices.Contains(*list, id) { // the last one may be among the first
					*list = append(*list, id)
				}
			}
			return rows.Err()
		})
}

// rowByRow makes an exchange that one of its rows makes fail: every settlement in an exchange of its own, then every
// extension, then the rest, and where that fails too, every reap and claim in one of its own. A row that fails alone is
// left as it is, named in the log, and skipped by this run. unanswered says whether a try before had no answer.
func (x *exchanger) rowByRow(ctx, connecting context.Context, req request, unanswered bool) (resp response) {
	settled, extended, began := map[int64]outcome{}, map[int64]standing{}, time.Now()
	unanswered, err := x.settleRowByRow(ctx, connecting, req, unanswered, settled)
	if err == nil {
		err = x.extendRowByRow(ctx, connecting, req, extended)
	}
	if err != nil {
		return response{err: err, settled: settled, unanswered: unanswered}
	}
	if req.settles, req.extends = nil, nil; req.hasRest() {
		resp = x.restRowByRow(ctx, connecting, req)
	}
	resp.settled, resp.extended, resp.extendedFrom, resp.unanswered = settled, extended, began, resp.unanswered || unanswered
	return resp
}

// each makes one exchange a row. Where all rows fail alike, a hundred of them at the most and the last one among these, the
// error is none of theirs: it is the run's, and no row is said to have failed. Four are enough where each takes all the
// time that a statement has.
func each(rows []int64, try func(id int64) error, failed func(id int64, err error)) error {
	var ids []int64
	var errs []error
	for i := 0; i < len(rows); i++ {
		err := try(rows[i])
		switch {
		case err == nil:
		case diagnoseTrouble(err) != rowTrouble:
			return err
		default:
			ids, errs = append(ids, rows[i]), append(errs, err)
		}
		if last := len(rows) - 1; i+2 == sample && last > i && alike(sample-1, errs) {
			rows = slices.Insert(slices.Clone(rows[:last]), i+1, rows[last])
		}
		tried := i + 1
		enough := tried == len(rows) || tried == mostAlike || isStatementTimeout(err)
		if tried >= sample && enough && alike(tried, errs) {
			return err
		}
	}
	for i, id := range ids {
		failed(id, errs[i])
	}
	return nil
}

// alike says whether there are n errors of one SQLSTATE.
func alike(n int, errs []error) bool {
	codes := map[string]bool{}
	for _, err := range errs {
		var pg *pgconn.PgError
		if !errors.As(err, &pg) {
			return false
		}
		codes[pg.Code] = true
	}
	return len(errs) == n && len(codes) == 1
}

// settleRowByRow settles one job an exchange. How those stand of which it learns nothing is looked up later: a try whose
// answer was lost may have settled them. It says whether some try had no answer, this one's or one before.
func (x *exchanger) settleRowByRow(ctx, connecting context.Context, req request, unanswered bool, settled map[int64]outcome) (_ bool, err error) {
	tasks := map[int64]*task{}
	var rows []int64
	for _, t := range req.settles {
		tasks[t.job.ID] = t
		rows = append(rows, t.job.ID)
	}
	waits := 0
	err = each(rows, func(id int64) error {
		if waits == sample { // whatever these wait for, the others would as well
			return nil
		}
		one := req.part()
		one.settles = []*task{tasks[id]}
		resp := x.repeat(ctx, connecting, &one, 1)
		unanswered = unanswered || resp.unanswered
		switch trouble := diagnoseTrouble(resp.err); {
		case trouble == passing && !isTableLock(resp.err): // a lock that a trigger waits for
			waits++
			return nil
		case trouble == rowTrouble && unanswered: // a try whose answer was lost may have settled it
			return nil
		}
		if resp.err != nil {
			return resp.err
		}
		x.report(one, &resp)
		if o, ok := resp.settled[id]; ok {
			settled[id] = o
		}
		return nil
	}, func(id int64, err error) {
		if t := tasks[id]; t.completes() { // its handler may have settled it
			look := req.part()
			look.lookup = []int64{id}
			if found := x.repeat(ctx, connecting, &look, mostTries); found.err == nil && t.settlement.became(found.rows[id], req.run) == completed {
				settled[id] = completed
				return
			}
		}
		x.config.Log.Error("the job cannot be settled; it stays running until its lease ends",
			"id", id, "attempt", tasks[id].job.Attempt, "error", brief(err))
		settled[id] = unsettleable
	})
	return unanswered, err
}

// extendRowByRow extends leases one an exchange. What cannot be extended now is asked for again, but not at once.
func (x *exchanger) extendRowByRow(ctx, connecting context.Context, req request, extended map[int64]standing) error {
	holdings := map[int64]holding{}
	var rows []int64
	for _, h := range req.extends {
		holdings[h.id] = h
		rows = append(rows, h.id)
	}
	waits := 0
	return each(rows, func(id int64) error {
		if waits == sample {
			return nil
		}
		one := req.part()
		one.extends = []holding{holdings[id]}
		resp := x.repeat(ctx, connecting, &one, 1)
		if diagnoseTrouble(resp.err) == passing && !isTableLock(resp.err) {
			waits++
			return nil
		}
		if resp.err != nil {
			return resp.err
		}
		x.report(one, &resp)
		if s, ok := resp.extended[id]; ok {
			extended[id] = s
		}
		return nil
	}, func(id int64, err error) {
		x.config.Log.Error("the lease cannot be extended", "id", id, "attempt", holdings[id].attempt, "error", brief(err))
		extended[id] = refused
	})
}

// restRowByRow makes what a request asks for beside settlements and extensions, each part by itself where it fails.
func (x *exchanger) restRowByRow(ctx, connecting context.Context, req request) response {
	resp := x.repeat(ctx, connecting, &req, mostTries)
	if resp.err == nil || isTableLock(resp.err) || diagnoseTrouble(resp.err) != rowTrouble {
		return resp
	}
	unanswered := resp.unanswered
	var given response
	if req.orphans {
		if given = x.orphansRowByRow(ctx, connecting, req); given.err != nil {
			given.unanswered = given.unanswered || unanswered
			return given
		}
		req.orphans, req.inFlight = false, append(req.inFlight, given.skipped...)
	}
	switch {
	case req.claim != nil:
		resp = x.claimRowByRow(ctx, connecting, req)
	case req.read == nil:
		resp = x.repeat(ctx, connecting, &req, 1)
	default:
		x.config.Log.Error("the job's payload cannot be read; it is given back and skipped by this run", "id", req.read.job.ID, "error", brief(resp.err))
		resp = response{skipped: []int64{req.read.job.ID}}
	}
	resp.orphans, resp.skipped = append(resp.orphans, given.orphans...), append(resp.skipped, given.skipped...)
	resp.suppressed = append(resp.suppressed, given.suppressed...)
	resp.unanswered = resp.unanswered || unanswered
	return resp
}

// orphansRowByRow gives back one orphan an exchange.
func (x *exchanger) orphansRowByRow(ctx, connecting context.Context, req request) (all response) {
	look := req.part()
	look.orphanIDs = true
	looked := x.repeat(ctx, connecting, &look, mostTries)
	if looked.err != nil {
		return looked
	}
	all.err = each(looked.orphanIDs, func(id int64) error {
		one := req.part()
		one.orphans, one.only = true, []int64{id}
		resp := x.repeat(ctx, connecting, &one, 1)
		all.orphans, all.suppressed = append(all.orphans, resp.orphans...), append(all.suppressed, resp.suppressed...)
		return resp.err
	}, func(id int64, err error) {
		x.config.Log.Error("the job was claimed in an exchange whose answer was lost, and cannot be given back; it stays running until its lease ends",
			"id", id, "error", brief(err))
		all.skipped = append(all.skipped, id)
	})
	if all.err != nil && diagnoseTrouble(all.err) == rowTrouble { // all of them fail alike, and are left as they are
		all.skipped, all.err = looked.orphanIDs, nil
	}
	return all
}

// claimRowByRow reaps and claims the rows that a request would have, one an exchange.
func (x *exchanger) claimRowByRow(ctx, connecting context.Context, req request) (all response) {
	look := req.part()
	some := *req.claim
	some.most = max(some.most, mostAlike)
	look.suspects = &some
	looked := x.repeat(ctx, connecting, &look, mostTries)
	if looked.err != nil {
		return looked
	}
	all.sent, all.took, all.rowByRow = looked.sent, looked.took, true
	var timeout error
	through := 0
	one := func(of request) error {
		for _, c := range all.claimed {
			of.inFlight = append(of.inFlight, c.job.ID)
		}
		resp := x.repeat(ctx, connecting, &of, mostTries)
		all.unanswered = all.unanswered || resp.unanswered
		if resp.err != nil {
			return resp.err
		}
		through++
		all.reaped, all.claimed = append(all.reaped, resp.reaped...), append(all.claimed, resp.claimed...)
		all.suppressed = append(all.suppressed, resp.suppressed...)
		return nil
	}
	failed := func(id int64, err error) { // locked rows are skipped: what waits for a lock is no row's fault
		x.config.Log.Error("the job cannot be claimed or reaped; it is left as it is and skipped by this run", "id", id, "error", brief(err))
		all.skipped = append(all.skipped, id)
		if isStatementTimeout(err) {
			timeout = err
		}
	}
	reapErr := each(looked.suspects.expired, func(id int64) error {
		of := req.part()
		of.reap, of.only = true, []int64{id}
		return one(of)
	}, failed)
	ofAll := diagnoseTrouble(reapErr) == rowTrouble // which may still be theirs alone: the claims tell
	if all.err = reapErr; reapErr == nil || ofAll {
		reaped := through
		all.err = each(looked.suspects.due, func(id int64) error {
			if len(all.claimed) >= req.claim.most {
				return nil
			}
			of, c := req.part(), *req.claim
			c.most, c.only = 1, []int64{id}
			of.claim = &c
			return one(of)
		}, failed)
		switch {
		case ofAll && through == reaped:
			all.err = reapErr
		case ofAll:
			ids := looked.suspects.expired
			x.config.Log.Error("jobs whose leases ran out cannot be reaped; they are left as they are and skipped by this run",
				"jobs", len(ids), "first", ids[:min(len(ids), mostNamed)], "error", brief(reapErr))
			all.skipped = append(all.skipped, ids...)
		}
	}
	if all.err == nil && through == 0 && timeout != nil { // no row got through in time, so it was none of theirs
		all.err = timeout
	}
	return all
}

func isStatementTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57014"
}

// isTableLock says that an exchange waited in vain for a lock on the table itself: no row's fault.
func isTableLock(err error) bool {
	var pg *pgconn.PgError
	return isLockTimeout(err) && errors.As(err, &pg) && pg.Where == ""
}

// isLockTimeout is true of those that a trigger waited for as well.
func isLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}
