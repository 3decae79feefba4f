package drain

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// handler is what works on all jobs of a run: how, the seed says for each start.
func (sim *simulation) handler(run *simRun) Handler {
	return func(ctx context.Context, job Job) error {
		a, d := sim.start(run, job)
		stop := context.AfterFunc(ctx, func() { sim.contextEnded(a, context.Cause(ctx)) })
		defer stop()
		way := isFast
		if d.IntN(sim.seldom) == 0 {
			way = pick(d, sim.ways...)
		}
		timeout := run.wake.queue(job.Queue).Timeout
		takes := d.some(10*time.Microsecond, 20*time.Millisecond)
		if way != isFast && d.chance(0.5) {
			takes = d.some(10*time.Microsecond, timeout*3/2)
		}
		lag := time.Duration(1000 + d.IntN(1_000_000))
		ends := func(err error) error { sim.returned(a, ctx, way, err); return err }
		tried := errors.New("tried")
		switch way {
		case ignoresForAWhile:
			sim.sleep(takes + d.some(0, pick(d, timeout, 2*timeout)+3*run.config.Grace))
			return ends(pick(d, nil, tried))
		case ignoresForEver:
			<-sim.over
			return ends(tried)
		}
		if !simSleep(ctx, takes) {
			sim.sleep(lag)
			switch {
			case way == finishesAnyhow:
				return ends(nil)
			case d.chance(0.1):
				return ends(Fail(tried))
			}
			return ends(ctx.Err())
		}
		switch way {
		case fails:
			return ends(tried)
		case panics:
			ends(tried)
			panic("at the handler")
		case exits:
			ends(tried)
			runtime.Goexit()
		case failsForGood:
			return ends(Fail(tried))
		case retriesAfter:
			return ends(RetryAfter(d.some(0, 30*time.Second), tried))
		case suspends:
			return ends(Suspend(tried))
		case isMisconfigured:
			return ends(Misconfigured(tried))
		case completes, completesLate, rollsBack:
			return ends(sim.complete(ctx, a, job, way, lag))
		}
		return ends(nil)
	}
}

// complete completes a job in a transaction of the handler's own.
func (sim *simulation) complete(ctx context.Context, a *simAttempt, job Job, way simWay, lag time.Duration) error {
	if err := job.CompleteTx(ctx, &simTx{sim: sim, held: time.Second}); err != nil {
		return err
	}
	if way == completesLate {
		lag += 500 * time.Millisecond
	}
	sim.sleep(lag)
	sim.mu.Lock()
	defer sim.mu.Unlock()
	r := sim.table.rows[job.ID]
	r.heldTo = time.Time{}
	if way != rollsBack {
		before := *r
		r.status, r.lockedUntil = "done", time.Time{}
		sim.committed(simChange{kind: "complete", run: job.Run, before: before, after: *r})
	}
	return nil
}

// A simTx is a handler's transaction that knows one statement. The row stays locked until its end.
type simTx struct {
	pgx.Tx
	sim  *simulation
	held time.Duration
}

func (tx *simTx) Exec(_ context.Context, _ string, args ...any) (pgconn.CommandTag, error) {
	tx.sim.mu.Lock()
	defer tx.sim.mu.Unlock()
	named := args[0].(pgx.StrictNamedArgs)
	r := tx.sim.table.rows[named["id"].(int64)]
	if !r.mine(named["run"].(string), named["attempt"].(int)) {
		return pgconn.NewCommandTag("UPDATE 0"), nil
	}
	if !r.isFree() {
		return pgconn.CommandTag{}, &pgconn.PgError{Code: "55P03", Message: "canceling statement due to lock timeout"}
	}
	if slices.Contains([]string{r.refuses, r.suppresses}, "settle") {
		return pgconn.CommandTag{}, &pgconn.PgError{Code: "P0001", Message: "refused"}
	}
	r.heldTo = time.Now().Add(tx.held)
	return pgconn.NewCommandTag("UPDATE 1"), nil
}

// sleep minds no context, only the end of the world.
func (sim *simulation) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-sim.over:
	}
}

func simHandlerDice(seed uint64, id int64, nth int) simDice {
	return simDice{rand.New(rand.NewPCG(seed, uint64(id)<<20+uint64(nth)+2))}
}
