package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A simDatabase is a run's way to the table, and all that may befall an exchange on it.
type simDatabase struct {
	sim    *simulation
	run    *simRun
	signal func()

	isOpen    bool
	isNew     bool // nothing was asked on this connection yet
	answered  bool
	exchanges int
	connect   time.Duration

	lastTrouble time.Time     // when the last exchange failed or was slow
	committed   int           // exchanges that changed something or might have
	late        int           // those committed after the client had given up
	unheard     int           // those committed whose answer did not come
	timeouts    int           // exchanges that took longer than a statement may
	seen        []*simAttempt // what the last exchange found in other hands
	endLooks    int           // exchanges that failed while they looked for lost answers
	lookedBack  bool          // the run tried to be recorded, or could not for what befell it at its end
	afterCut    bool          // the last exchange had a claim, and was cut
}

func (db *simDatabase) proven() bool { return db.answered }

func (db *simDatabase) traffic() (int, time.Duration) { return db.exchanges, db.connect }

func (db *simDatabase) close() { db.isOpen = false }

// open connects, with patience as the true one has.
func (db *simDatabase) open(ctx context.Context) error {
	if db.isOpen {
		return nil
	}
	began := time.Now()
	timeout := db.run.config.ConnectTimeout
	patience, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if db.run.refused {
		db.trouble()
		simSleep(patience, 3*time.Millisecond)
		return reworded{"cannot connect to the database: refused", &pgconn.PgError{Code: "28P01"}}
	}
	wait := 2*time.Millisecond + time.Duration(db.exchanges) + db.apart()
	if end, down := db.sim.in(db.sim.outages); down {
		db.trouble()
		wait += time.Until(end)
	}
	if !simSleep(patience, wait) {
		db.trouble()
		if ctx.Err() != nil {
			return fmt.Errorf("stopped while connecting to the database: %w", context.Cause(ctx))
		}
		return reworded{"database out of reach", io.ErrUnexpectedEOF}
	}
	db.sim.mu.Lock()
	db.isOpen, db.isNew = true, true
	db.sim.mu.Unlock()
	if db.connect == 0 {
		db.connect = time.Since(began)
	}
	return nil
}

// do makes one exchange, or meets with what the schedule has for it.
func (db *simDatabase) do(ctx context.Context, req request) (response, error) {
	if err := ctx.Err(); err != nil { // nothing was sent, and the connection stays
		return response{}, simTimeout{err}
	}
	db.lookedBack = db.lookedBack || req.record != nil
	sim, n := db.sim, db.exchanges
	f := db.run.faults[min(n, len(db.run.faults)-1)]
	db.exchanges++
	if n == db.run.signalIn {
		time.AfterFunc(f.signal, db.signal)
	}
	began := time.Now()
	if f.before > 100*time.Millisecond {
		db.trouble()
	}
	sim.note("%s: exchange %d %s", db.run.name, n, describe(req))
	sim.asks(db.run, req)
	if db.afterCut && req.claim != nil && !req.orphans {
		sim.wrongly("%s: an exchange after a cut does not give back what was claimed in it", db.run.name)
	}
	db.afterCut = false
	resp, err := db.meet(ctx, req, f)
	if err != nil || time.Since(began) > 200*time.Millisecond {
		db.trouble()
	}
	if err != nil && !errors.As(err, new(*pgconn.PgError)) {
		db.isOpen, db.afterCut = false, req.claim != nil
	}
	if err != nil && (len(req.lookup) > 0 || req.recount) {
		db.endLooks++
	}
	if err == nil {
		db.answered = true
		sim.heard(db.run, resp)
	}
	sim.note("%s: exchange %d over, %v", db.run.name, n, err)
	return resp, err
}

// apart keeps two runs from going on at the same instant.
func (db *simDatabase) apart() time.Duration { return time.Duration(db.run.n) * time.Microsecond }

func (db *simDatabase) trouble() {
	db.sim.mu.Lock()
	defer db.sim.mu.Unlock()
	db.lastTrouble = time.Now()
	select {
	case <-db.run.wake.over:
		db.lookedBack = true
	default:
	}
}

func (db *simDatabase) meet(ctx context.Context, req request, f simFault) (response, error) {
	if !simSleep(ctx, f.before) {
		if f.commits {
			db.later(req, f.late)
		}
		return response{}, ctx.Err()
	}
	if end, locked := db.sim.in(db.sim.locks); locked {
		db.trouble()
		if wait := time.Until(end); !simSleep(ctx, min(wait, 3*time.Second)+db.apart()) {
			return response{}, ctx.Err()
		} else if wait >= 3*time.Second {
			return response{}, &pgconn.PgError{Code: "55P03", Message: "canceling statement due to lock timeout"}
		}
	}
	if _, down := db.sim.in(db.sim.outages); down {
		return response{}, io.ErrUnexpectedEOF
	}
	switch f.what {
	case lostBefore:
		return response{}, io.ErrUnexpectedEOF
	case lateCommit:
		db.later(req, f.late)
		return response{}, io.ErrUnexpectedEOF
	case deadlocked:
		return response{}, &pgconn.PgError{Code: "40P01", Message: "deadlock detected"}
	case strainedOut:
		return response{}, &pgconn.PgError{Code: "53200", Message: "out of memory"}
	case refusedForGood:
		return response{}, &pgconn.PgError{Code: "42501", Message: "permission denied"}
	case tooLong:
		db.timeouts++
		db.trouble()
		if !simSleep(ctx, 30*time.Second) {
			return response{}, ctx.Err()
		}
		return response{}, &pgconn.PgError{Code: "57014", Message: "canceling statement due to statement timeout"}
	}
	resp, err := db.execute(req, false)
	if err != nil {
		simSleep(ctx, f.after)
		return response{}, err
	}
	if f.after > 100*time.Millisecond {
		db.trouble()
	}
	if !simSleep(ctx, f.after) {
		db.unheard++
		return response{}, ctx.Err()
	}
	if f.what == lostAnswer {
		db.unheard++
		return response{}, io.ErrUnexpectedEOF
	}
	return resp, nil
}

// later commits what the client has given up.
func (db *simDatabase) later(req request, after time.Duration) {
	db.sim.mu.Lock()
	db.late++
	db.sim.mu.Unlock()
	time.AfterFunc(after, func() {
		if _, down := db.sim.in(db.sim.outages); !down {
			db.sim.note("%s: committed late", db.run.name)
			db.execute(req, true)
		}
	})
}

func (db *simDatabase) execute(req request, late bool) (response, error) {
	sim := db.sim
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.late = late
	resp, err := sim.server.execute(db.run.n, req, db.isNew)
	if sim.late = false; err == nil {
		db.committed++
		if !late {
			sim.looked(db.run, req)
		}
		db.isNew = db.isNew && late
	}
	return resp, err
}

// A simTimeout is how a call says that its context had ended before.
type simTimeout struct{ error }

func (t simTimeout) Timeout() bool   { return true }
func (t simTimeout) Temporary() bool { return true }
func (t simTimeout) Unwrap() error   { return t.error }

// simSleep sleeps, unless ctx ends before.
func simSleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func describe(req request) string {
	text := ""
	add := func(is bool, format string, args ...any) {
		if is {
			text += fmt.Sprintf(format+" ", args...)
		}
	}
	add(req.orphans, "orphans but %v", req.inFlight)
	for _, t := range req.settles {
		add(true, "settle %d.%d %s", t.job.ID, t.job.Attempt, t.settlement.status)
	}
	for _, h := range req.extends {
		add(true, "extend %d.%d", h.id, h.attempt)
	}
	add(req.reap, "reap %v", req.only)
	if c := req.claim; c != nil {
		add(true, "claim %d alone %d skip %v", c.most, c.alone, c.skip)
	}
	add(req.read != nil, "read")
	add(req.suspects != nil, "suspects")
	add(len(req.lookup) > 0, "lookup %v", req.lookup)
	add(req.recount, "recount")
	add(len(req.linger) > 0, "linger")
	add(req.record != nil, "record")
	return text
}
