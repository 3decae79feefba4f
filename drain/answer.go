package drain

import (
	"errors"
	"log/slog"
	"slices"
	"time"
)

// answer takes in what came of the exchange that was under way.
func (w *wake) answer(resp response) {
	settling, asked := w.settling, w.exchange
	w.settling, w.exchange = nil, nil
	w.report.Exchanges = w.link.exchanges
	w.report.ConnectMS = w.link.connectTook.Milliseconds()
	settled := false
	for _, j := range settling {
		switch o := resp.settled[j.job.ID]; {
		case o == stuck && time.Now().Before(j.leaseEnd()):
			j.askAt = time.Now().Add(askAgain)
			fallthrough
		case o == 0:
			w.finished = append(w.finished, j)
		default:
			settled = true
			w.count(j, o)
		}
	}
	if resp.err != nil {
		w.fail(resp.err)
		w.observe()
		return
	}
	w.took = resp.took
	w.skip = append(w.skip, slices.Concat(resp.strays, resp.unclaimable)...)
	if settled {
		w.exhausted, w.empty, w.pace = false, false, 0
	}
	if w.first.IsZero() {
		w.first = resp.now
	}
	for _, j := range settling {
		if !j.started.IsZero() {
			w.pace = max(w.pace, j.ended.Sub(j.started))
		}
	}
	w.takeExtended(resp)
	w.takeReaped(asked, resp)
	w.takeClaimed(asked.claim, resp)
	w.observe()
}

func (w *wake) observe() {
	if w.config.Observe != nil {
		w.config.Observe(w.report)
	}
}

// takeExtended moves the ends of leases, and ends the handlers of jobs that are another run's by now.
func (w *wake) takeExtended(resp response) {
	keep := func(j *work) bool {
		switch resp.extended[j.job.ID] {
		case extended:
			j.leased, j.lease, j.starved = resp.sent, w.config.lease(&j.queue.Queue), false
			if j.expiry != nil {
				j.expiry.Reset(time.Until(j.leaseEnd()))
			}
		case locked, done:
			j.askAt = time.Now().Add(askAgain)
		case gone:
			if j.cancel == nil {
				return false
			}
			j.gone = true
			j.cancel(ErrLeaseLost)
		}
		return true
	}
	for _, j := range w.running {
		keep(j)
	}
	waiting := w.waiting
	w.waiting = nil
	for _, j := range waiting {
		if keep(j) {
			w.waiting = append(w.waiting, j)
		} else {
			j.queue.waiting--
			w.lose(j)
		}
	}
}

func (w *wake) takeReaped(req *request, resp response) {
	for _, r := range resp.reaped {
		w.report.Reaped++
		level := slog.LevelWarn
		if r.status == "failed" {
			w.report.FailedForGood++
			level = slog.LevelError
		}
		w.config.Log.Log(w.outer, level, "lease ran out: the worker was lost", "queue", r.queue, "id", r.id, "now", r.status, "last_error", r.text)
	}
	if req.reap {
		w.reap = len(resp.reaped) == mostReaped || resp.rowByRow
	}
}

// takeClaimed takes jobs in hand.
func (w *wake) takeClaimed(asked *claim, resp response) {
	if asked == nil {
		return
	}
	switch {
	case asked.alone == onlyAlone:
		w.aloneDue, w.othersTurn = len(resp.claimed) > 0, true
	case asked.seek:
		w.aloneDue, w.aloneAt = resp.aloneDue, time.Now().Add(aloneAgain)
	}
	bounded, newer := false, len(resp.claimed) > 0
	for _, r := range asked.rooms {
		bounded = bounded || !r.since.runAt.IsZero()
	}
	payloads := 0
	for _, c := range resp.claimed {
		q := w.queue(c.job.Queue)
		if c.spent {
			w.report.Reaped++
			w.report.FailedForGood++
			w.config.Log.Error("not started: its attempts were spent before", "queue", q.Name, "id", c.job.ID, "attempts", c.job.Attempt)
			continue
		}
		payloads += len(c.job.Payload)
		if !c.alone {
			if at := (place{c.job.RunAt, c.job.ID}); q.since.before(at) {
				q.since = at
			}
			newer = newer && c.job.RunAt.After(w.first)
		}
		q.waiting++
		w.claimed++
		w.report.Claimed++
		w.waiting = append(w.waiting, &work{job: c.job, queue: q, alone: c.alone,
			leased: resp.sent, lease: w.config.lease(&q.Queue)})
	}
	if asked.alone == onlyAlone {
		return
	}
	w.othersTurn = false
	w.pastFirst = w.pastFirst || newer
	short := len(resp.claimed) < asked.most
	if short && bounded {
		for _, q := range w.queues {
			q.since = place{} // what came in behind is not forgotten: the next claim looks from the beginning
		}
		return
	}
	w.exhausted = short && payloads < maxPayloads/2
	w.empty = asked.alone == elseAlone && len(resp.claimed) == 0 && len(resp.unclaimable) == 0
	if w.empty && resp.next != nil && w.lingered+*resp.next <= w.config.Linger {
		w.lingered += *resp.next
		w.lingerTo = time.Now().Add(*resp.next)
	}
}

// count books a job that is settled, and says so where somebody should know.
func (w *wake) count(j *work, o outcome) {
	r, s := &w.report, j.settlement
	log := w.config.Log.With("queue", j.queue.Name, "id", j.job.ID, "attempt", j.job.Attempt)
	switch o {
	case completed:
		r.Done++
		log.Debug("done", "took", j.ended.Sub(j.started).String())
	case retried:
		r.Retried++
		level := slog.LevelWarn
		if s.foreseen {
			level = slog.LevelInfo
		}
		log.Log(w.outer, level, "failed attempt, retried later", "after", s.delay.String(), "error", s.text)
	case failed:
		r.Failed++
		r.FailedForGood++
		log.Error("failed for good", "error", s.text)
	case released:
		r.Released++
		w.skip = append(w.skip, j.job.ID)
		if s.text == "" {
			log.Debug("released: not started")
		} else {
			log.Warn("given back", "error", s.text)
		}
	case lost, stuck:
		w.lose(j)
	case unsettleable: // which was logged where it was found out
		r.Lost++
		w.kept = append(w.kept, j.job.ID)
	}
}

// fail takes in that the database is out of reach, or refused a whole exchange. What is in hand gets the grace.
func (w *wake) fail(err error) {
	if w.outer.Err() != nil && !w.holds() {
		w.beginStop(w.signalled(), time.Now().Add(w.config.Grace))
		return
	}
	if w.hard.Err() != nil && isTimeout(err) {
		w.cutShort = true // by the end of the grace. Whether the database is there the record will tell
		return
	}
	if w.err == nil {
		w.err = err
		switch {
		case errors.Is(err, ErrRefused) && w.link.proven: // in the middle of a run: much was claimed
			w.err = errors.New(err.Error())
		case !errors.As(err, new(reworded)) && !errors.Is(err, ErrRefused):
			w.err = reworded{brief(err) + hint(err), err}
		}
	}
	if !w.holds() {
		w.noMore = StoppedError
		return
	}
	if w.stop.begun() {
		w.config.Log.Debug("the database failed again", "error", brief(err))
	} else {
		w.config.Log.Error("the database failed; settling what is in hand within the grace", "error", brief(err))
	}
	w.beginStop(StoppedError, time.Now().Add(w.config.Grace))
	w.notBefore = time.Now().Add(time.Second)
}
