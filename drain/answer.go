package drain

import (
	"errors"
	"time"
)

// answer takes in what came of the exchange that was under way.
func (w *wake) answer(resp response) {
	asked := w.underWay
	w.cutShort = (w.exchanges.Err() != nil || w.cut) && resp.err != nil && isTimeout(resp.err)
	w.underWay, w.cut = nil, false
	w.lookAt, w.usedAt, w.connected = time.Time{}, time.Now(), true
	w.takeSettled(asked.settles, &resp)
	for _, r := range resp.reaped { // row by row, also where an error came after
		w.takeReaped(r)
	}
	w.orphans = resp.err != nil && (w.orphans || resp.unanswered || len(resp.claimed) > 0)
	if resp.err != nil {
		w.fail(resp.err)
		w.observe()
		return
	}
	w.took = resp.took
	w.skip = append(w.skip, resp.orphans...)
	w.lost = append(w.lost, resp.skipped...)
	if w.alone.first.IsZero() {
		w.alone.first = resp.now
	}
	w.takeExtended(&resp)
	if asked.reap {
		w.reap = len(resp.reaped)+len(resp.skipped) >= mostReaped || resp.rowByRow
	}
	w.takeRead(asked.read, &resp)
	w.takeClaimed(asked.claim, &resp)
	w.observe()
}

// observe shows the report as it is so far.
func (w *wake) observe() {
	exchanges, connect := w.exchanger.db.traffic()
	w.report.Exchanges, w.report.ConnectMS = exchanges, connect.Milliseconds()
	if w.config.Observe != nil {
		w.config.Observe(w.report)
	}
}

// fail takes in that the database is out of reach, or refused a whole exchange. What is in flight gets the grace.
func (w *wake) fail(err error) {
	switch {
	case w.claiming.Err() != nil && !w.holds():
		w.beginStop(w.signalled(), time.Now().Add(w.config.Grace))
		return
	case w.cutShort: // whether the database is there the record will tell
		return
	case isLockTimeout(err) && w.holds():
		w.config.Log.Warn("the table of jobs is locked: asked again until the leases of what is finished end", "error", brief(err))
		w.pausedTo = time.Now().Add(time.Second)
		return
	}
	if w.err == nil {
		w.err = err
		switch {
		case errors.Is(err, ErrRefused) && w.exchanger.db.proven(): // in the middle of a run: much was claimed
			w.err = errors.New(err.Error())
		case !errors.As(err, new(reworded)) && !errors.Is(err, ErrRefused):
			w.err = reworded{brief(err) + hint(err), err}
		}
	}
	if !w.holds() {
		w.failed = true
		return
	}
	if w.stop.begun() {
		w.config.Log.Debug("the database failed again", "error", brief(err))
	} else {
		w.config.Log.Error("the database failed; settling what is in flight within the grace", "error", brief(err))
	}
	w.beginStop(StoppedError, time.Now().Add(w.config.Grace))
	w.pausedTo = time.Now().Add(time.Second)
}
