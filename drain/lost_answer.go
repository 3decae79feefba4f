package drain

import (
	"context"
	"slices"
)

// account finds out what became of that which an exchange did not confirm: settlements and extensions, by how their rows
// stand; and what was reaped in a try whose answer was lost.
func (x *exchanger) account(ctx, connecting context.Context, req request, resp *response) error {
	look := req.part()
	for _, c := range resp.claimed {
		look.inFlight = append(look.inFlight, c.job.ID)
	}
	for _, t := range req.settles {
		if _, ok := resp.settled[t.job.ID]; !ok {
			look.lookup = append(look.lookup, t.job.ID)
		}
	}
	for _, h := range req.extends {
		if _, ok := resp.extended[h.id]; !ok {
			look.lookup = append(look.lookup, h.id)
		}
	}
	look.recount = resp.unanswered && (req.reap || req.claim != nil)
	if len(look.lookup) == 0 && !look.recount {
		return nil
	}
	found := x.repeat(ctx, connecting, &look, mostTries)
	if found.err != nil {
		return found.err
	}
	resp.reaped = append(resp.reaped, found.reaped...)
	resp.orphans = append(resp.orphans, found.orphans...)
	resp.confirm(req, found.rows)
	return nil
}

// confirm completes a response by how rows stand.
func (resp *response) confirm(req request, rows map[int64]row) {
	if resp.settled == nil {
		resp.settled = map[int64]outcome{}
	}
	if resp.extended == nil {
		resp.extended = map[int64]standing{}
	}
	for _, t := range req.settles {
		if _, ok := resp.settled[t.job.ID]; !ok {
			resp.settled[t.job.ID] = t.settlement.became(rows[t.job.ID], req.run)
		}
	}
	for _, h := range req.extends {
		if _, ok := resp.extended[h.id]; !ok {
			resp.extended[h.id] = h.stands(rows[h.id], req.run)
		}
	}
}

// lastLook finds out, when a run ends, what became of the settlements that were not confirmed and of the exchange whose
// answer was lost, and gives back what was claimed there.
func (w *wake) lastLook(ctx context.Context) {
	tasks := w.unsettled()
	if len(tasks) == 0 && !w.orphans {
		return
	}
	look := request{run: w.run, inFlight: w.inFlight(), orphans: w.orphans, recount: w.orphans}
	for _, t := range tasks {
		look.lookup = append(look.lookup, t.job.ID)
	}
	w.finished, w.locked, w.late, w.underWay = nil, nil, nil, nil
	found := w.exchanger.exchange(ctx, ctx, look)
	if found.err != nil {
		w.giveUp(tasks)
		return
	}
	w.orphans = false
	for _, r := range found.reaped {
		w.takeReaped(r)
	}
	open := slices.DeleteFunc(tasks, func(t *task) bool {
		o := t.settlement.became(found.rows[t.job.ID], w.run)
		if o == stuck {
			return false
		}
		w.count(t, o)
		return true
	})
	w.giveUp(open)
}

// giveUp counts the tasks that the run cannot settle any more.
func (w *wake) giveUp(tasks []*task) {
	for _, t := range tasks {
		w.config.Log.Error("the job could not be settled: its lease decides, and it may run again",
			"queue", t.queue.Name, "id", t.job.ID, "attempt", t.job.Attempt, "was", t.settlement.status)
		w.report.Lost++
		w.lost = append(w.lost, t.job.ID)
	}
}
