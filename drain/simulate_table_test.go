package drain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A simTable is the model of the table: what the statements do to it, each request in one transaction.
type simTable struct {
	rows    map[int64]*simRow
	commit  func(simChange) // sees every change that was committed
	changes []simChange     // of the transaction so far
}

// A simRow is a job as the statements know it.
type simRow struct {
	id          int64
	queue       string
	size        int
	status      string
	runAt       time.Time
	attempts    int
	max         int
	lost        int
	lockedUntil time.Time // zero: null
	lockedBy    string
	reapedBy    string // the run that last_error names as the one that took the row back
	spentBy     string // or failed it because its attempts were spent

	refuses    string    // the change that a trigger refuses
	suppresses string    // or takes back
	heldTo     time.Time // locked by a hand until then
}

// A simChange is one row's change.
type simChange struct {
	kind          string
	run           string
	before, after simRow
	settlement    *settlement
}

// simNow is the database's clock, which counts in microseconds.
func simNow() time.Time { return time.Now().Truncate(time.Microsecond) }

func (r *simRow) isFree() bool { return !time.Now().Before(r.heldTo) }

func (r *simRow) isExpired(now time.Time) bool {
	return r.status == "running" && (r.lockedUntil.IsZero() || !r.lockedUntil.After(now))
}

func (r *simRow) runsAlone() bool { return r.lost >= 2 || r.lost >= 1 && r.attempts+1 >= r.max }

func (r *simRow) place() place { return place{r.runAt, r.id} }

// sorted are all rows in the order of their ids.
func (t *simTable) sorted() []*simRow {
	return slices.SortedFunc(maps.Values(t.rows), func(a, b *simRow) int { return cmp.Compare(a.id, b.id) })
}

// due are the free rows of a queue that may be claimed, in their order.
func (t *simTable) due(now time.Time, queue string, skip []int64) (due []*simRow) {
	for _, r := range t.rows {
		if r.status == "queued" && r.queue == queue && !r.runAt.After(now) && !slices.Contains(skip, r.id) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *simRow) int { return cmp.Or(a.runAt.Compare(b.runAt), cmp.Compare(a.id, b.id)) })
	return due
}

// change changes a row, unless a trigger has something against it.
func (t *simTable) change(r *simRow, kind, run string, how func(*simRow)) (bool, error) {
	before, after := *r, *r
	how(&after)
	switch what := simWhat(&before, &after); {
	case r.refuses == what:
		return false, &pgconn.PgError{Code: "P0001", Message: "refused", Where: "PL/pgSQL function refuse() line 1 at RAISE"}
	case r.suppresses == what:
		return false, nil
	}
	*r = after
	t.changes = append(t.changes, simChange{kind: kind, run: run, before: before, after: after})
	return true, nil
}

// simWhat is what a trigger sees of a change.
func simWhat(before, after *simRow) string {
	switch {
	case before.status == "queued":
		return "claim"
	case after.status == "running":
		return "extend"
	}
	return "settle"
}

// execute does all that a request asks for, or nothing.
func (t *simTable) execute(req request) (resp response, err error) {
	t.changes = nil
	if err := t.ask(req, &resp); err != nil {
		for _, c := range slices.Backward(t.changes) {
			*t.rows[c.before.id] = c.before
		}
		return response{}, err
	}
	for _, c := range t.changes {
		t.commit(c)
	}
	return resp, nil
}

func (t *simTable) ask(req request, resp *response) error {
	steps := []func(request, *response) error{t.orphans, t.settle, t.extend, t.reap, t.claim, t.claimAlone}
	for _, step := range steps {
		if err := step(req, resp); err != nil {
			return err
		}
	}
	now := simNow()
	if c := req.claim; c != nil && c.seek {
		for _, q := range c.queues() {
			resp.aloneDue = resp.aloneDue || slices.ContainsFunc(t.due(now, q, c.skip), func(r *simRow) bool { return r.attempts < r.max && r.runsAlone() })
		}
	}
	if req.read != nil {
		if r := t.rows[req.read.job.ID]; r != nil && r.mine(req.run, req.read.job.Attempt) {
			resp.payload = simPayload(r.size)
		}
	}
	if req.suspects != nil {
		resp.suspects = t.suspects(*req.suspects)
	}
	if len(req.lookup) > 0 {
		resp.rows = map[int64]row{}
		for _, id := range req.lookup {
			if r := t.rows[id]; r != nil {
				resp.rows[id] = row{r.status, r.attempts, r.lockedBy, r.lost}
			}
		}
	}
	if req.recount {
		for _, r := range t.sorted() {
			if r.reapedBy == req.run || r.spentBy == req.run {
				status := "queued"
				if r.status == "failed" {
					status = "failed"
				}
				resp.reaped = append(resp.reaped, reaped{id: r.id, queue: r.queue, status: status})
			}
		}
	}
	if len(req.linger) > 0 {
		resp.next = t.next(now, req.linger)
	}
	if req.record != nil {
		resp.left = t.record(now, *req.record)
	}
	return nil
}

func (r *simRow) mine(run string, attempt int) bool {
	return r.status == "running" && r.lockedBy == run && r.attempts == attempt
}

func (t *simTable) orphans(req request, resp *response) error {
	for _, r := range t.sorted() {
		if r.status != "running" || r.lockedBy != req.run || slices.Contains(req.inFlight, r.id) {
			continue
		}
		if req.orphanIDs {
			resp.orphanIDs = append(resp.orphanIDs, r.id)
		}
		if !req.orphans || !r.isFree() || req.only != nil && !slices.Contains(req.only, r.id) {
			continue
		}
		changed, err := t.change(r, "orphan", req.run, func(r *simRow) {
			r.status, r.attempts, r.lockedUntil = "queued", r.attempts-1, time.Time{}
		})
		if err != nil {
			return err
		}
		if changed {
			resp.orphans = append(resp.orphans, r.id)
		} else {
			resp.suppressed = append(resp.suppressed, r.id)
		}
	}
	return nil
}

func (t *simTable) settle(req request, resp *response) error {
	if len(req.settles) == 0 {
		return nil
	}
	resp.settled = map[int64]outcome{}
	for _, task := range req.settles {
		s := task.settlement
		r := t.rows[s.id]
		if r == nil || !r.mine(req.run, s.attempt) || !r.isFree() {
			continue
		}
		changed, err := t.change(r, "settle", req.run, func(r *simRow) {
			r.status, r.attempts, r.lost, r.lockedUntil = s.status, r.attempts-s.given(), r.lost+s.adds(), time.Time{}
			if s.delay >= 0 {
				r.runAt = simNow().Add(s.delay.Truncate(time.Microsecond))
			}
			if s.text != "" {
				r.reapedBy, r.spentBy = "", ""
			}
		})
		if err != nil {
			return err
		}
		if changed {
			t.changes[len(t.changes)-1].settlement = &s
			resp.settled[s.id] = s.counts
		} else {
			resp.suppressed = append(resp.suppressed, s.id)
		}
	}
	return nil
}

func (t *simTable) extend(req request, resp *response) error {
	if len(req.extends) == 0 {
		return nil
	}
	resp.extended = map[int64]standing{}
	for _, h := range slices.SortedFunc(slices.Values(req.extends), func(a, b holding) int { return cmp.Compare(a.id, b.id) }) {
		r := t.rows[h.id]
		if r == nil || !r.mine(req.run, h.attempt) || !r.isFree() {
			continue
		}
		changed, err := t.change(r, "extend", req.run, func(r *simRow) { r.lockedUntil = simNow().Add(h.lease.Truncate(time.Microsecond)) })
		if err != nil {
			return err
		}
		if changed {
			resp.extended[h.id] = extended
		} else {
			resp.suppressed = append(resp.suppressed, h.id)
		}
	}
	return nil
}

func (t *simTable) reap(req request, resp *response) error {
	if !req.reap {
		return nil
	}
	now, n := simNow(), 0
	for _, r := range t.sorted() {
		if !r.isExpired(now) || req.only != nil && !slices.Contains(req.only, r.id) || slices.Contains(req.skip(), r.id) || !r.isFree() {
			continue
		}
		if n++; n > mostReaped {
			break
		}
		changed, err := t.change(r, "reap", req.run, func(r *simRow) {
			first := r.max == 1 && r.lost == 0
			r.status = "queued"
			if r.attempts >= r.max && !first {
				r.status = "failed"
			}
			if first {
				r.attempts = 0
			}
			r.lost++
			r.lockedUntil, r.reapedBy, r.spentBy = time.Time{}, req.run, ""
		})
		if err != nil {
			return err
		}
		if changed {
			resp.reaped = append(resp.reaped, reaped{id: r.id, queue: r.queue, status: r.status})
		} else {
			resp.suppressed = append(resp.suppressed, r.id)
		}
	}
	return nil
}

func (t *simTable) claim(req request, resp *response) error {
	c := req.claim
	if c == nil || c.alone == onlyAlone {
		return nil
	}
	now := simNow()
	var due []*simRow
	leases := map[int64]time.Duration{}
	for _, room := range c.rooms {
		n := 0
		for _, r := range t.due(now, room.queue, c.skip) {
			if n >= room.jobs || len(due) >= c.most {
				break
			}
			if !room.since.runAt.IsZero() && !room.since.before(r.place()) || c.only != nil && !slices.Contains(c.only, r.id) ||
				r.runsAlone() && r.attempts < r.max || !r.isFree() {
				continue
			}
			n++
			due = append(due, r)
			leases[r.id] = room.lease
		}
	}
	total, nth := 0, 0
	for _, r := range due {
		if r.size > maxPayloads && !c.large {
			continue
		}
		nth++
		if total += r.size; total > maxPayloads && nth > 1 {
			break
		}
		if err := t.take(req.run, r, leases[r.id], false, resp); err != nil {
			return err
		}
	}
	return nil
}

func (t *simTable) claimAlone(req request, resp *response) error {
	c := req.claim
	if c == nil || c.alone == noneAlone {
		return nil
	}
	now := simNow()
	for _, r := range t.rows {
		if r.status == "running" && r.lockedBy == req.run {
			return nil
		}
	}
	for _, room := range c.rooms {
		for _, r := range t.due(now, room.queue, c.skip) {
			if c.only != nil && !slices.Contains(c.only, r.id) || r.attempts >= r.max || !r.runsAlone() || !r.isFree() {
				continue
			}
			return t.take(req.run, r, room.lease, true, resp)
		}
	}
	return nil
}

// take claims a row, or fails it where its attempts are spent.
func (t *simTable) take(run string, r *simRow, lease time.Duration, alone bool, resp *response) error {
	spent := r.attempts >= r.max
	kind := "claim"
	if spent {
		kind = "spent"
	}
	changed, err := t.change(r, kind, run, func(r *simRow) {
		r.lockedBy, r.lockedUntil = run, time.Time{}
		if spent {
			r.status, r.spentBy, r.reapedBy = "failed", run, ""
			return
		}
		r.status, r.attempts, r.lockedUntil = "running", r.attempts+1, simNow().Add(lease.Truncate(time.Microsecond))
	})
	if err != nil {
		return err
	}
	if !changed {
		resp.suppressed = append(resp.suppressed, r.id)
		return nil
	}
	got := claimed{alone: alone, spent: spent, job: Job{Run: run, ID: r.id, Queue: r.queue, RunAt: r.runAt, Attempt: r.attempts, MaxAttempts: r.max, lost: r.lost}}
	if r.size <= maxPayloads {
		got.job.Payload = simPayload(r.size)
	}
	got.unread = got.job.Payload == nil
	resp.claimed = append(resp.claimed, got)
	return nil
}

func (t *simTable) suspects(c claim) (s suspects) {
	now := simNow()
	var expired, due []*simRow
	for _, r := range t.sorted() {
		if r.isExpired(now) && !slices.Contains(c.skip, r.id) {
			expired = append(expired, r)
		}
	}
	var last, alone *simRow
	for _, q := range c.queues() {
		isAlone := func(r *simRow) bool { return r.runsAlone() && r.attempts < r.max }
		rows := t.due(now, q, c.skip)
		if i := slices.IndexFunc(rows, isAlone); i >= 0 && alone == nil {
			alone = rows[i]
		}
		rows = slices.DeleteFunc(rows, isAlone)
		due = append(due, rows[:min(len(rows), c.most)]...)
		if len(rows) > 0 {
			last = rows[len(rows)-1]
		}
	}
	list := func(to *[]int64, rows []*simRow, last *simRow) {
		for _, r := range append(slices.Clone(rows[:min(len(rows), c.most)]), last) {
			if !slices.Contains(*to, r.id) {
				*to = append(*to, r.id)
			}
		}
	}
	if len(expired) > 0 {
		list(&s.expired, expired, expired[len(expired)-1])
	}
	if last != nil {
		list(&s.due, due, last)
	}
	if alone != nil {
		s.due = append(s.due, alone.id)
	}
	return s
}

func (t *simTable) next(now time.Time, queues []string) (next *time.Duration) {
	for _, r := range t.rows {
		if r.status == "queued" && slices.Contains(queues, r.queue) && r.runAt.After(now) {
			if in := r.runAt.Sub(now); next == nil || in < *next {
				next = &in
			}
		}
	}
	return next
}

func (t *simTable) record(now time.Time, rec record) *left {
	l := &left{stopped: rec.report.Stopped}
	for _, r := range t.rows {
		due := r.status == "queued" && !r.runAt.After(now)
		here := slices.Contains(rec.queues, r.queue)
		l.due += count(due && here)
		l.unhandled += count(due && !here)
		l.leased += count(r.status == "running" && r.lockedBy != rec.report.Run)
	}
	if l.stopped == StoppedTime && l.due == 0 {
		l.stopped = StoppedEmpty
	}
	return l
}

// hand is what an operator does to a job.
func (t *simTable) hand(what string, id int64) {
	r := t.rows[id]
	before := *r
	switch {
	case what == "cancel" && (r.status == "queued" || r.status == "running"):
		r.status, r.lockedUntil, r.reapedBy, r.spentBy = "failed", time.Time{}, "", ""
	case what == "retry" && r.status == "failed":
		r.status, r.attempts, r.lost, r.runAt = "queued", 0, 0, simNow()
	default:
		return
	}
	t.commit(simChange{kind: what, before: before, after: *r})
}

// print is the table as it stands, but for times.
func (t *simTable) print() (lines []string) {
	for _, r := range t.sorted() {
		lines = append(lines, fmt.Sprintf("%d %s %s attempts %d of %d, lost %d, %s", r.id, r.queue, r.status, r.attempts, r.max, r.lost, r.lockedBy))
	}
	return lines
}

var simPayloads = make([]byte, maxPayloads+1000)

// simPayload is a payload of a size, which costs nothing.
func simPayload(size int) []byte { return simPayloads[:size:size] }
