package drain

import (
	"slices"
	"time"
)

// letGo is how long a connection is kept without an exchange. A compute that counts connections can pause after that,
// and one that kills idle sessions does no harm.
const letGo = 10 * time.Second

// A decision is what a run does next. One field is set, or none: then it waits for a handler, an answer, a signal or the
// time in until, whichever comes first.
type decision struct {
	stop    string   // begin to stop, for this reason
	cancel  bool     // end the handlers' contexts
	resume  bool     // the wait for jobs about to fall due is over
	overdue []*task  // their handlers should have returned: give them one more moment, or abandon them
	release []*task  // give these back, which will not start
	start   []*task  // start these
	cut     bool     // end the exchange under way, which is not answered
	send    *request // make this exchange
	close   bool     // close the connection
	over    string   // the run has come to its end, for this reason

	until  time.Time
	lookAt time.Time // with until: no task in flight needs a look before
}

// waits says whether there is nothing to do but to wait.
func (d decision) waits() bool { return !d.until.IsZero() }

// step decides what a run does now. It changes nothing. What a task wants by its own times is only looked at when the
// first of these times has come, so that a handler's end costs the same however much is in flight.
func (s *state) step(now time.Time) decision {
	switch {
	case !s.stop.begun() && !now.Before(s.budgetEnd()):
		return decision{stop: StoppedTime}
	case s.stop.begun() && !s.canceled && !now.Before(s.stop.cancelAt):
		return decision{cancel: true}
	case !s.lingerTo.IsZero() && !now.Before(s.lingerTo):
		return decision{resume: true}
	}
	look := s.look(now)
	if len(look.overdue) > 0 {
		return decision{overdue: look.overdue}
	}
	if release := s.hopeless(now); len(release) > 0 {
		return decision{release: release}
	}
	start, starved := s.startable(now)
	if len(start) > 0 {
		return decision{start: start}
	}
	at := earlier(s.nextTurn(), look.at)
	if s.underWay != nil {
		if cutAt := s.cutAt(); !now.Before(cutAt) {
			return decision{cut: true}
		} else if at.After(cutAt) {
			at = cutAt
		}
		return decision{until: at, lookAt: look.next}
	}
	if why := s.isOver(now); why != "" {
		return decision{over: why}
	}
	for _, t := range starved {
		if now.Before(t.askAt) {
			at = earlier(at, t.askAt)
		} else {
			look.extend = true
		}
	}
	req, wanted := s.plan(now, look.extend, starved)
	switch {
	case req == nil && s.connected && !s.stop.begun():
		if idle := s.usedAt.Add(letGo); now.Before(idle) && s.lingerTo.IsZero() {
			at = earlier(at, idle)
		} else {
			return decision{close: true}
		}
	case req != nil && now.Before(s.pausedTo):
		wanted = s.pausedTo
	case req != nil:
		return decision{send: req}
	}
	return decision{until: earlier(at, wanted), lookAt: look.next}
}

// cutAt is when the exchange under way is given up once the run stops: whoever does not answer then may never do so, and
// what is finished is to be settled over another connection while there is time.
func (s *state) cutAt() time.Time {
	if !s.stop.begun() || s.cut {
		return never
	}
	return later(s.sentAt, s.stop.beganAt).Add(max(s.stop.endAt.Sub(s.stop.beganAt)/4, time.Second))
}

func (s *state) budgetEnd() time.Time { return s.deadline.Add(-s.config.Grace) }

// nextTurn is when the time alone decides what the run as a whole does.
func (s *state) nextTurn() time.Time {
	at := never
	switch {
	case !s.stop.begun():
		at = s.budgetEnd()
	case !s.canceled:
		at = s.stop.cancelAt
	case s.underWay == nil: // after the grace, the answer of the last exchange is all that is waited for
		at = s.stop.endAt
	}
	if !s.lingerTo.IsZero() {
		at = earlier(at, s.lingerTo)
	}
	return at
}

// A view is what the tasks in flight want by their own times.
type view struct {
	overdue  []*task
	extend   bool      // a lease wants to be extended now
	at, next time.Time // when a task will want something; when to look again, which is at once where extend waits
}

func (s *state) look(now time.Time) view {
	if now.Before(s.lookAt) {
		return view{at: s.lookAt, next: s.lookAt}
	}
	v := view{at: never}
	for _, t := range s.running {
		if at := later(s.overdueAt(t), t.leaveAt); now.Before(at) {
			v.at = earlier(v.at, at)
		} else {
			v.overdue = append(v.overdue, t)
		}
	}
	for _, t := range s.live() {
		if at := s.extendAt(t); now.Before(at) {
			v.at = earlier(v.at, at)
		} else {
			v.extend = true
		}
	}
	if !v.extend {
		v.next = v.at
	}
	return v
}

// hopeless are the waiting tasks that this run will not start: all of them once it stops or has no slot left, those of a
// suspended queue, and those that could not end in time any more.
func (s *state) hopeless(now time.Time) (tasks []*task) {
	for _, q := range s.queues {
		if len(q.waiting) > 0 && (s.stop.begun() || s.slots() <= 0 || q.suspended || !s.fits(q, now)) {
			tasks = append(tasks, q.waiting...)
		}
	}
	return tasks
}

// startable are the waiting tasks for which a slot is free. A task whose lease does not cover what it may take is passed
// over: starved are those for which a slot stays free.
func (s *state) startable(now time.Time) (start, starved []*task) {
	free := s.slots() - len(s.running)
	if s.stop.begun() || s.runsAlone() {
		return nil, nil
	}
	for _, q := range s.queues {
		room := q.Concurrency - q.running
		for _, t := range q.waiting {
			if free <= 0 || room <= 0 {
				break
			}
			switch {
			case t.unread, t.alone && len(s.running)+len(start) > 0:
			case t.leaseEnd().Sub(now) < s.config.covers(&q.Queue):
				starved = append(starved, t)
			case t.alone:
				return []*task{t}, nil
			default:
				start = append(start, t)
				free, room = free-1, room-1
			}
		}
	}
	return start, starved
}

// isOver gives the reason for which the run has come to its end, or nothing.
func (s *state) isOver(now time.Time) string {
	switch {
	case s.stop.begun() && !now.Before(s.stop.endAt):
		return s.stop.reason
	case s.holds():
		return ""
	case s.stop.begun():
		return s.stop.reason
	case s.failed:
		return StoppedError
	case s.config.MaxJobs > 0 && s.claims >= s.config.MaxJobs:
		return StoppedJobs
	}
	fits := func(q *queue) bool { return !q.suspended && s.fits(q, now) }
	late := func(q *queue) bool { return !q.suspended && !s.fits(q, now) }
	switch over := s.empty && s.lingerTo.IsZero() || !slices.ContainsFunc(s.queues, fits); {
	case !over:
		return ""
	case slices.ContainsFunc(s.queues, late):
		return StoppedTime
	}
	return StoppedEmpty
}

// plan gives the exchange to be made now, or nil and when one will be wanted.
func (s *state) plan(now time.Time, extend bool, starved []*task) (*request, time.Time) {
	c, locked, at := s.claim(now), s.stillLocked(now), never
	if s.unread != nil {
		c = nil // one thing at a time, for a job that may be more than this machine can take
	}
	ready := len(s.finished) + len(s.locked) - locked
	wanted := extend || s.unread != nil || c != nil && ready == 0 && !s.empty && (!s.short || c.alone != noneAlone)
	for _, t := range s.locked {
		if now.Before(t.askAt) {
			at = earlier(at, t.askAt)
		}
	}
	if ready > 0 {
		if due := s.settleAt(now, c != nil); now.Before(due) {
			at = earlier(at, due)
		} else {
			wanted = true
		}
	}
	if s.stop.begun() && !s.resumed && len(s.running) > 0 {
		wanted = true // so that a compute that has to resume is there when the handlers end
	}
	if !wanted {
		return nil, at
	}
	req := &request{settles: s.ready(now), extends: s.extensions(now, starved), claim: c, read: s.unread, inFlight: s.inFlight()}
	if c != nil {
		c.skip = slices.Concat(s.skip, req.inFlight)
	}
	req.orphans, req.recount = s.orphans || len(req.extends) > 0, s.orphans
	req.reap = s.reap && c != nil
	req.linger = s.lingerFor(c)
	return req, never
}
