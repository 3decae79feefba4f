package drain

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sethvargo/go-retry"
)

//go:embed check.sql
var checkStatement statement

//go:embed path.sql
var pathStatement statement

//go:embed diagnose.sql
var diagnoseStatement statement

//go:embed limits.sql
var limitsStatement statement

const readVersion statement = `select version from {schema}.jobs_version`

// answerTime is how long an exchange may go without its answer before its connection counts as dead: longer than any
// statement in it may work, since a compute that went away may leave no sign.
const answerTime = time.Minute

// A request is what one exchange shall do: one round trip, one transaction, all of it or nothing.
type request struct {
	run     string
	strays  bool // give back what runs under this run without being in hand
	inHand  []int64
	settles []settlement // in id order
	extends []holding
	reap    bool
	only    []int64 // the rows to reap; nil: any
	claim   *claim
	// suspects asks for the rows that this claim, and a reap, may fail on.
	suspects *claim
	held     []int64  // ids of which to tell how they stand
	linger   []string // queues of which to tell when the next job falls due
	record   *record
}

// part is a request that does a part of this one. It knows what is in hand, for where it is cut it gives back the rest.
func (r request) part() request {
	return request{run: r.run, inHand: slices.Clone(r.inHand)}
}

// skip are the rows that a reap leaves out too, because they cannot be changed.
func (r request) skip() []int64 {
	if r.claim == nil {
		return []int64{}
	}
	return append([]int64{}, r.claim.skip...)
}

// A response is what came of it.
type response struct {
	err error

	settled  map[int64]outcome // of the settlements that are through; also where err is set
	extended map[int64]standing
	reaped   []reaped
	claimed  []claimed
	held     map[int64]row
	strays   []int64
	suspects []suspect
	// unclaimable rows made the claim fail, so that it was done row by row.
	unclaimable []int64
	rowByRow    bool
	aloneDue    bool
	now         time.Time // of the database, when the connection was opened
	next        *time.Duration
	left        *left

	sent time.Time     // when the try that succeeded was sent: leases count from here
	took time.Duration // its round trip
}

// exchange does a request, again where that may help: on a new connection after a cut, at once after a deadlock, row by
// row where one row makes it fail. connecting bounds the wait for a connection.
func (l *link) exchange(ctx, connecting context.Context, req request) response {
	resp := l.repeat(ctx, connecting, &req)
	if resp.err != nil && ctx.Err() == nil && isRowTrouble(resp.err) &&
		(len(req.settles) > 0 || len(req.extends) > 0 || req.claim != nil && diagnoseTrouble(resp.err) == rowTrouble) {
		resp = l.rowByRow(ctx, connecting, req)
	}
	if resp.err == nil {
		resp.err = l.account(ctx, connecting, req, &resp)
	}
	return resp
}

// account finds out what became of settles and extensions that the exchange did not confirm.
func (l *link) account(ctx, connecting context.Context, req request, resp *response) error {
	var open []int64
	for _, s := range req.settles {
		if _, ok := resp.settled[s.id]; !ok {
			open = append(open, s.id)
		}
	}
	for _, h := range req.extends {
		if _, ok := resp.extended[h.id]; !ok {
			open = append(open, h.id)
		}
	}
	if len(open) == 0 {
		return nil
	}
	look := req.part()
	for _, c := range resp.claimed {
		look.inHand = append(look.inHand, c.job.ID)
	}
	look.held = open
	found := l.repeat(ctx, connecting, &look)
	if found.err != nil {
		return found.err
	}
	if resp.settled == nil {
		resp.settled = map[int64]outcome{}
	}
	for _, s := range req.settles {
		if _, ok := resp.settled[s.id]; !ok {
			resp.settled[s.id] = s.became(found.held[s.id], req.run)
		}
	}
	for _, h := range req.extends {
		if _, ok := resp.extended[h.id]; !ok {
			resp.extended[h.id] = h.stands(found.held[h.id], req.run)
		}
	}
	return nil
}

// repeat does a request until it succeeds or its error is one that stays.
func (l *link) repeat(ctx, connecting context.Context, req *request) (resp response) {
	tries := 0
	var astray time.Time // since when every server that was found took no writes
	resp.err = again(ctx, answerTime+l.config.ConnectTimeout, func(ctx context.Context) error {
		if err := l.open(connecting); err != nil {
			return err
		}
		var err error
		resp, err = l.once(ctx, *req)
		if err == nil {
			return nil
		}
		if isUnencodable(err) {
			again := req.spell()
			if !again {
				again, _ = l.lackNames(ctx)
			}
			if again {
				return retry.RetryableError(err)
			}
		}
		tries++
		switch diagnoseTrouble(err) {
		case cut:
			l.drop()
			switch {
			case !errors.As(err, new(cutOff)):
				astray = time.Time{}
			case astray.IsZero():
				astray = time.Now()
			case time.Since(astray) > l.config.ConnectTimeout:
				return err
			}
			req.strays = true // a claim may have been committed, and its answer lost
			l.config.Log.Warn("connection lost, doing the exchange again", "error", brief(err))
			return retry.RetryableError(err)
		case passing, strained:
			if tries < 4 {
				l.config.Log.Info("doing the exchange again", "error", brief(err))
				return retry.RetryableError(err)
			}
		}
		return err
	})
	return resp
}

// once sends a request and reads its answer.
func (l *link) once(ctx context.Context, req request) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req = req.without(l.lacks)
	var resp response
	b := &batch{schema: l.config.Schema}
	checked, limited := l.checked, false
	b.queue(limitsStatement, nil).Exec(func(pgconn.CommandTag) error { limited = true; return nil })
	if !l.checked {
		b.queue(pathStatement, nil)
		b.queue(checkStatement, pgx.StrictNamedArgs{"version": SchemaVersion, "schema": l.config.Schema}).QueryRow(func(row pgx.Row) error {
			var hides bool
			err := row.Scan(&resp.now, new(int), &hides)
			checked = err == nil
			if hides && !l.proven {
				l.config.Log.Warn("row level security is on for this role: jobs that its policies hide are neither drained nor counted; make the role the table's owner, or give it BYPASSRLS")
			}
			return err
		})
	}
	if req.strays {
		b.strays(req.run, req.inHand, &resp.strays)
	}
	if len(req.settles) > 0 {
		b.settle(req.run, req.settles, &resp.settled)
	}
	if len(req.extends) > 0 {
		b.extend(req.run, req.extends, &resp.extended)
	}
	if req.reap {
		b.reap(req.only, req.skip(), &resp.reaped)
	}
	if req.claim != nil {
		b.claim(req.run, *req.claim, &resp.claimed)
	}
	if req.claim != nil && req.claim.seek {
		b.aloneDue(*req.claim, &resp.aloneDue)
	}
	if req.suspects != nil {
		b.suspects(*req.suspects, &resp.suspects)
	}
	if len(req.held) > 0 {
		b.held(req.held, &resp.held)
	}
	if len(req.linger) > 0 {
		b.next(req.linger, &resp.next)
	}
	if req.record != nil {
		b.record(*req.record, &resp.left)
	}
	resp.sent = time.Now()
	l.exchanges++
	err := l.conn.SendBatch(ctx, &b.Batch).Close()
	l.lastUsed = time.Now()
	resp.took = l.lastUsed.Sub(resp.sent)
	switch {
	case err != nil && !limited && isStatementTimeout(err): // the session's own, which the limits replace
		err = hasty{reworded{brief(err) + "; raise the role's statement_timeout, which ends even the shortest statement", err}}
	case err != nil && !checked && diagnoseTrouble(err) != cut:
		err = l.diagnose(ctx)
		if l.proven && !errors.Is(err, ErrRefused) {
			err = cutOff{err} // a failover in the middle of a run: the next connection may find the primary
		}
	}
	if err != nil { // what some statements answered before another failed was taken back with it
		return response{}, err
	}
	l.checked, l.proven = true, true
	return resp, nil
}

// A batch is a pgx batch whose statements know their schema.
type batch struct {
	pgx.Batch
	schema string
}

func (b *batch) queue(s statement, args pgx.StrictNamedArgs) *pgx.QueuedQuery {
	if args == nil {
		return b.Batch.Queue(s.in(b.schema))
	}
	return b.Batch.Queue(s.in(b.schema), args)
}
