package drain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sethvargo/go-retry"
)

// answerTime is how long an exchange may go without its answer before its connection counts as dead: longer than any
// statement in it may work, since a compute that went away may leave no sign.
const answerTime = time.Minute

// mostNamed is how many rows of one exchange are named in the log.
const mostNamed = 20

// mostTries is how often an exchange is made that fails for a reason which passes: a deadlock, a lock not got.
const mostTries = 4

// A database is where a run leaves the process. A session with Postgres is the one that users have.
type database interface {
	// open connects, where there is no connection.
	open(ctx context.Context) error
	// do makes one exchange: all that the request asks for, in one transaction, or nothing.
	do(ctx context.Context, req request) (response, error)
	// close lets the connection go.
	close()
	// proven says whether the tables were ever found as this program needs them.
	proven() bool
	// traffic is how many exchanges were sent, and how long the first connect took.
	traffic() (exchanges int, connect time.Duration)
}

// A request is what one exchange does, in this order.
type request struct {
	run       string
	inFlight  []int64 // all that runs under this run's id for a reason
	orphans   bool    // give back what runs under it for none
	settles   []*task // in id order
	extends   []holding
	reap      bool
	only      []int64 // the rows to reap, or to give back; nil: any
	claim     *claim
	read      *task // whose payload is to be read
	orphanIDs bool  // tell what could be given back
	// suspects asks for the rows that this claim, and a reap, may fail on.
	suspects *claim
	lookup   []int64 // ids of jobs to tell the state of
	recount  bool    // tell what this run has reaped
	linger   []string
	record   *record
}

// part is a request that does a part of this one. It knows what is in flight, for where it is cut it gives back the rest.
func (r request) part() request {
	return request{run: r.run, inFlight: slices.Clone(r.inFlight)}
}

// skip are the rows that a reap leaves out too, because they cannot be changed.
func (r request) skip() []int64 {
	if r.claim == nil {
		return []int64{}
	}
	return ids(r.claim.skip)
}

// A response is what came of it.
type response struct {
	err  error
	sent time.Time     // when the try that succeeded was sent: leases count from here
	took time.Duration // its round trip

	settled  map[int64]outcome // of the settlements that are through; also where err is set
	extended map[int64]standing
	// extendedFrom is from when the extended leases count; sent where it is zero.
	extendedFrom time.Time
	reaped       []reaped
	claimed      []claimed
	payload      []byte
	orphans      []int64
	orphanIDs    []int64
	suspects     suspects
	rows         map[int64]row
	aloneDue     bool
	now          time.Time // of the database, when the connection was opened
	next         *time.Duration
	left         *left

	// suppressed rows were chosen and then not changed, for a trigger took the change back.
	suppressed []int64
	// skipped rows cannot be claimed, reaped, read or given back: this run leaves them as they are.
	skipped  []int64
	rowByRow bool
	// unanswered says that some try was sent and its answer did not come.
	unanswered bool
}

// An exchanger makes exchanges, again where that may help: on a new connection after a cut, at once after a deadlock,
// row by row where one row makes it fail.
type exchanger struct {
	db     database
	config Config
	jitter uint64 // percent by which waits between two tries vary
}

// exchange makes one exchange. connecting bounds the wait for a connection.
func (x *exchanger) exchange(ctx, connecting context.Context, req request) response {
	resp := x.repeat(ctx, connecting, &req, mostTries)
	if resp.err != nil && ctx.Err() == nil && req.mayFailByRow(resp.err) {
		resp = x.rowByRow(ctx, connecting, req, resp.unanswered)
	}
	if resp.err == nil {
		x.report(req, &resp)
		resp.err = x.account(ctx, connecting, req, &resp)
	}
	return resp
}

// mayFailByRow says whether it could be a job's row that made the request fail.
func (r request) mayFailByRow(err error) bool {
	settles := len(r.settles)+len(r.extends) > 0
	switch diagnoseTrouble(err) {
	case rowTrouble:
		return settles || r.hasRest()
	case passing:
		return settles && !isTableLock(err)
	}
	return false
}

// hasRest says whether anything of a request is left when settlements and extensions are through.
func (r request) hasRest() bool { return r.claim != nil || r.read != nil || r.orphans }

// report names the rows whose change a trigger suppressed, and takes what they were chosen for as refused.
func (x *exchanger) report(req request, resp *response) {
	suppressed := resp.suppressed
	resp.suppressed = nil
	if more := len(suppressed) - mostNamed; more > 0 {
		x.config.Log.Error("a trigger on the table suppresses the change of more rows than are named here", "more", more)
	}
	for i, id := range suppressed {
		if i < mostNamed {
			x.config.Log.Error("a trigger on the table suppresses the change of the job's row; it is left as it is and skipped by this run", "id", id)
		}
		settles := slices.ContainsFunc(req.settles, func(t *task) bool { return t.job.ID == id })
		extends := slices.ContainsFunc(req.extends, func(h holding) bool { return h.id == id })
		switch {
		case settles:
			resp.settled[id] = unsettleable
		case extends:
			resp.extended[id] = refused
		default:
			resp.skipped = append(resp.skipped, id)
		}
	}
}

// repeat makes an exchange until it succeeds or its error is one that stays.
func (x *exchanger) repeat(ctx, connecting context.Context, req *request, tries int) (resp response) {
	unanswered := false
	var astray time.Time // since when every server that was found took no writes
	err := againWith(ctx, x.jitter, answerTime+x.config.ConnectTimeout, func(ctx context.Context) error {
		if err := x.db.open(connecting); err != nil {
			return err
		}
		var err error
		resp, err = x.do(ctx, *req)
		if err == nil {
			return nil
		}
		tries--
		switch diagnoseTrouble(err) {
		case cut:
			x.db.close()
			unanswered = true
			switch {
			case !errors.As(err, new(cutOff)):
				astray = time.Time{}
			case astray.IsZero():
				astray = time.Now()
			case time.Since(astray) > x.config.ConnectTimeout:
				return err
			}
			req.orphans = true // a claim may have been committed, and its answer lost
			if ctx.Err() == nil {
				x.config.Log.Warn("connection lost, doing the exchange again", "error", brief(err))
			}
			return retry.RetryableError(err)
		case passing, strained:
			if tries > 0 {
				x.config.Log.Info("doing the exchange again", "error", brief(err))
				return retry.RetryableError(err)
			}
		}
		return err
	})
	resp.err, resp.unanswered = err, unanswered
	return resp
}

func (x *exchanger) do(ctx context.Context, req request) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	sent := time.Now()
	resp, err := x.db.do(ctx, req)
	resp.sent, resp.took = sent, time.Since(sent)
	return resp, err
}
