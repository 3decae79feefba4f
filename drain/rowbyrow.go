package drain

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed suspects.sql
var suspectsStatement statement

// A suspect is a row that a reap or a claim may have failed on.
type suspect struct {
	id      int64
	expired bool // else it is due
}

func (b *batch) suspects(c claim, to *[]suspect) {
	b.queue(suspectsStatement, pgx.StrictNamedArgs{"queues": c.queues(), "most": c.most, "skip": append([]int64{}, c.skip...)}).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var s suspect
				if err := rows.Scan(&s.id, &s.expired); err != nil {
					return err
				}
				*to = append(*to, s)
			}
			return rows.Err()
		})
}

// rowByRow does a request that one of its rows makes fail: every settle in an exchange of its own, then the rest, and
// where that fails too, every reap and claim in one of its own. A row that fails alone is left as it is, named in the
// log, and skipped by this run.
func (l *link) rowByRow(ctx, connecting context.Context, req request) response {
	if len(req.settles)+len(req.extends) == 0 {
		return l.claimRowByRow(ctx, connecting, req)
	}
	settled := map[int64]outcome{}
	for _, s := range req.settles {
		one := req.part()
		one.settles = []settlement{s}
		resp := l.repeat(ctx, connecting, &one)
		switch {
		case resp.err == nil:
			if o, ok := resp.settled[s.id]; ok {
				settled[s.id] = o
			}
		case isRowTrouble(resp.err):
			l.config.Log.Error("the job cannot be settled; it stays running until its lease ends",
				"id", s.id, "attempt", s.attempt, "error", brief(resp.err))
			settled[s.id] = unsettleable
		default:
			resp.settled = settled
			return resp
		}
	}
	extended, err := l.extendRowByRow(ctx, connecting, req)
	if err != nil {
		return response{err: err, settled: settled}
	}
	req.settles, req.extends = nil, nil
	resp := l.repeat(ctx, connecting, &req)
	if resp.err != nil && diagnoseTrouble(resp.err) == rowTrouble && req.claim != nil {
		resp = l.claimRowByRow(ctx, connecting, req)
	}
	resp.settled, resp.extended = settled, extended
	return resp
}

// extendRowByRow extends leases one an exchange. What cannot be extended now is asked for again, as if it were locked.
func (l *link) extendRowByRow(ctx, connecting context.Context, req request) (map[int64]standing, error) {
	all := map[int64]standing{}
	for _, h := range req.extends {
		one := req.part()
		one.extends = []holding{h}
		resp := l.repeat(ctx, connecting, &one)
		switch {
		case resp.err == nil:
			if s, ok := resp.extended[h.id]; ok {
				all[h.id] = s
			}
		case isRowTrouble(resp.err):
			l.config.Log.Error("the lease cannot be extended", "id", h.id, "attempt", h.attempt, "error", brief(resp.err))
			all[h.id] = locked
		default:
			return nil, resp.err
		}
	}
	return all, nil
}

// claimRowByRow reaps and claims the rows that a request would have, one an exchange.
func (l *link) claimRowByRow(ctx, connecting context.Context, req request) (all response) {
	look := req.part()
	look.suspects = req.claim
	looked := l.repeat(ctx, connecting, &look)
	if looked.err != nil {
		return looked
	}
	all.sent, all.took, all.rowByRow = looked.sent, looked.took, true
	room, through := req.claim.most, 0
	var timeout error
	for _, s := range looked.suspects {
		one := req.part()
		for _, c := range all.claimed {
			one.inHand = append(one.inHand, c.job.ID)
		}
		if s.expired {
			one.reap, one.only = true, []int64{s.id}
		} else {
			c := *req.claim
			c.most, c.only = 1, []int64{s.id}
			one.claim = &c
		}
		resp := l.repeat(ctx, connecting, &one)
		switch {
		case resp.err == nil:
			through++
			all.reaped, all.claimed = append(all.reaped, resp.reaped...), append(all.claimed, resp.claimed...)
			if len(all.claimed) >= room {
				return all
			}
		case diagnoseTrouble(resp.err) == rowTrouble: // locked rows are skipped: what waits for a lock is no row's fault
			l.config.Log.Error("the job cannot be claimed or reaped; it is left as it is and skipped by this run",
				"id", s.id, "error", brief(resp.err))
			all.unclaimable = append(all.unclaimable, s.id)
			if isStatementTimeout(resp.err) {
				timeout = resp.err
			}
		default:
			all.err = resp.err
			return all
		}
	}
	if through == 0 && timeout != nil { // no row got through in time, so it was none of theirs
		all.err = timeout
	}
	return all
}

func isStatementTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57014"
}

func isRowTrouble(err error) bool {
	t := diagnoseTrouble(err)
	return t == rowTrouble || t == passing
}
