package drain

import (
	"cmp"
	"slices"
	"time"
)

const (
	// unsettled is the longest that a finished job waits to be settled while others of its batch still wait to start.
	unsettled = 500 * time.Millisecond
	// fast is the longest that a handler takes and is called fast.
	fast = 50 * time.Millisecond
	// deadEntries is how many jobs a run claims before it remembers how far it got in the index of due jobs. Up to then
	// the dead entries that its claims leave there cost less than the one claim more that the memory asks for at the end.
	deadEntries = 5000
	// aloneAgain is when a run that found no job which has to run alone looks for one again, although others are due.
	aloneAgain = time.Minute
	// askAgain is when an extension that found the row locked is tried again.
	askAgain = time.Second
)

// rooms are the queues that a claim may take from now, and how many jobs of each.
func (h *hand) rooms(now time.Time) (rooms []room) {
	for _, q := range h.queues {
		n := h.config.Batch
		if q.Concurrency < h.config.Concurrency && len(h.queues) > 1 {
			n = q.Concurrency - q.running - q.waiting
		}
		q.doesNotFit = !h.fits(q, now)
		if q.suspended || q.doesNotFit || n <= 0 {
			continue
		}
		r := room{queue: q.Name, jobs: n, lease: h.config.lease(&q.Queue)}
		if h.claimed > deadEntries {
			r.since = q.since
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// claims is the claim that may be made now, or nil: when a slot is free and nothing claimed waits to start.
func (h *hand) claims(now time.Time) *claim {
	if h.stop.begun() || len(h.running) >= h.slots || h.noMore != "" {
		return nil
	}
	// What is finished is settled in the same exchange, unless somebody has it locked.
	inHand := len(h.waiting) + len(h.running) + len(h.finished) - len(h.ready(now))
	for _, w := range h.waiting {
		if w.alone || w.queue.running < w.queue.Concurrency {
			return nil
		}
	}
	if slices.ContainsFunc(h.running, (*work).isAlone) {
		return nil
	}
	most := min(h.config.Batch, max(h.config.Batch, h.slots)-inHand)
	if h.config.MaxJobs > 0 {
		if h.claimed >= h.config.MaxJobs {
			h.noMore = StoppedJobs
			return nil
		}
		most = min(most, h.config.MaxJobs-h.claimed)
	}
	rooms := h.rooms(now)
	if len(rooms) == 0 && inHand == 0 {
		h.empty = true // every queue is suspended, unless time keeps one out
		if slices.ContainsFunc(h.queues, func(q *queue) bool { return q.doesNotFit && !q.suspended }) {
			h.noMore = StoppedTime
		}
	}
	if most <= 0 || len(rooms) == 0 {
		return nil
	}
	kind := noneAlone
	switch {
	case h.aloneDue && !h.othersTurn && inHand > 0:
		return nil
	case h.aloneDue && !h.othersTurn:
		kind, most = onlyAlone, 1
	case inHand == 0:
		kind = elseAlone
	}
	return &claim{
		most: most, rooms: rooms, skip: slices.Concat(h.skip, h.kept), alone: kind, seek: h.seeksAlone(now),
		large: !slices.ContainsFunc(append(h.waiting, h.running...), func(w *work) bool { return len(w.job.Payload) > maxPayloads }),
	}
}

// seeksAlone says whether a claim asks for jobs that have to run alone although others are due: once all is done that was
// due at the run's first claim, or half of the budget is spent. From then on they and the others take turns.
func (h *hand) seeksAlone(now time.Time) bool {
	late := h.pastFirst || !now.Before(h.half) || h.config.MaxJobs > 0 && 2*h.claimed >= h.config.MaxJobs
	return late && !h.aloneDue && !now.Before(h.aloneAt)
}

// company is how long a finished job waits for others while its slot is idle: no longer than the last exchange took, or,
// where handlers are fast, twice as long as the slowest of the last ones. What was claimed together ends about together
// then, commands on few cores a little apart, and is settled in one exchange.
func (h *hand) company() time.Duration {
	pace := h.pace
	for _, w := range h.finished {
		pace = max(pace, w.ended.Sub(w.started))
	}
	if pace > fast {
		return h.took
	}
	return max(h.took, 2*pace)
}

// settleAt is when what is finished wants to be settled. It waits for company, but not where nobody can come any more.
func (h *hand) settleAt(now time.Time, idle bool) time.Time {
	oldest := h.finished[0].ended
	switch {
	case len(h.running) == 0, slices.ContainsFunc(h.finished, func(w *work) bool { return w.started.IsZero() }):
		return now
	case idle:
		return oldest.Add(h.company())
	}
	return oldest.Add(unsettled)
}

// extendAt is when a job's lease wants to be extended: at once where a waiting job could start but for its lease, before
// half of it is gone where the job runs longer, late where it only waits, and never where it covers all that the job
// may take.
func (h *hand) extendAt(w *work, now time.Time) time.Time {
	var at time.Time
	switch {
	case w.gone:
		return never
	case !w.started.IsZero() && !w.leaseEnd().Before(w.started.Add(w.queue.Timeout+h.config.Grace)):
		return never
	case !w.started.IsZero():
		at = w.leased.Add(w.lease * 4 / 10)
	case w.starved:
		at = now
	default:
		at = w.leased.Add(w.lease * 3 / 4)
	}
	return later(at, w.askAt)
}

// never is later than any run.
var never = time.Unix(1<<40, 0)

// plan gives the exchange to be made now, or nil and when to look again.
func (h *hand) plan(now time.Time) (*request, time.Time) {
	at := never
	due := func(t time.Time) bool {
		if t.After(now) {
			at = earlier(at, t)
			return false
		}
		return true
	}
	c := h.claims(now)
	exchange := c != nil && len(h.ready(now)) == 0 && !h.empty && (!h.exhausted || c.alone != noneAlone)
	ready := h.ready(now)
	for _, w := range h.finished[len(ready):] {
		due(w.askAt)
	}
	if len(ready) > 0 && due(h.settleAt(now, c != nil)) {
		exchange = true
	}
	var extends []holding
	for _, w := range slices.Concat(h.waiting, h.running) {
		wants := h.extendAt(w, now)
		if due(wants) {
			exchange = true
		}
		// Whoever wants it before long is extended in the same exchange.
		if !wants.After(now.Add(w.lease / 4)) {
			extends = append(extends, holding{w.job.ID, w.job.Attempt, h.config.lease(&w.queue.Queue)})
		}
	}
	if h.stop.begun() && !h.reopened && len(h.running) > 0 {
		exchange = true // so that a compute which has to resume is there when the handlers end
	}
	if !exchange {
		return nil, at
	}
	req := &request{inHand: h.ids(), claim: c, extends: extends, strays: len(extends) > 0}
	for _, w := range ready {
		req.settles = append(req.settles, w.settlement)
	}
	slices.SortFunc(req.settles, func(a, b settlement) int { return cmp.Compare(a.id, b.id) })
	return req, at
}

// ready are the finished jobs that can be settled now; what somebody else has locked is sorted behind them.
func (h *hand) ready(now time.Time) []*work {
	slices.SortStableFunc(h.finished, func(a, b *work) int { return count(now.Before(a.askAt)) - count(now.Before(b.askAt)) })
	n := slices.IndexFunc(h.finished, func(w *work) bool { return now.Before(w.askAt) })
	if n < 0 {
		return h.finished
	}
	return h.finished[:n]
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
