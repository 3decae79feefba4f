package drain

import (
	"cmp"
	"slices"
	"time"
)

// This file is what each statement does to the model of the table.

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
