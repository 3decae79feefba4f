package drain

import "time"

// The grace is the whole time from the signal to the last settle. Handlers' contexts end six seconds before its end; a
// command then gets TERM, and KILL five seconds later; half a second before the end a handler that still has not
// returned is abandoned. In a grace of less than twenty seconds the steps shrink in proportion.
const (
	fullGrace    = 20 * time.Second
	cancelBefore = 6 * time.Second
	killAfter    = 5 * time.Second
	leaveBefore  = 500 * time.Millisecond
)

// A stop is a run on its way to its end. The zero stop has not begun.
type stop struct {
	reason                   string
	beganAt                  time.Time
	cancelAt, leaveAt, endAt time.Time
}

// stopBy lays out a grace that ends at a given time.
func stopBy(reason string, end time.Time, grace time.Duration) stop {
	return stop{
		reason:   reason,
		beganAt:  end.Add(-grace),
		cancelAt: end.Add(-shrink(cancelBefore, grace)),
		leaveAt:  end.Add(-shrink(leaveBefore, grace)),
		endAt:    end,
	}
}

func (s stop) begun() bool { return s.reason != "" }

func shrink(step, grace time.Duration) time.Duration {
	return time.Duration(float64(step) * min(1, float64(grace)/float64(fullGrace)))
}

// KillAfter is how long after its context ended a handler that runs something outside the process should kill it: five
// seconds, less in a grace of less than twenty.
func (c Config) KillAfter() time.Duration {
	return shrink(killAfter, c.WithDefaults().Grace)
}

// beginStop begins to stop. The first stop stands, and ends no later than the budget.
func (w *wake) beginStop(reason string, end time.Time) {
	if w.stop.begun() {
		return
	}
	end = earlier(end, w.deadline)
	w.stop, w.lookAt = stopBy(reason, end, min(w.config.Grace, max(0, time.Until(end)))), time.Time{}
	w.config.Log.Info("stopping: nothing more is claimed", "reason", reason, "grace", max(0, time.Until(end)).Round(time.Millisecond).String())
	w.endClaims()
	time.AfterFunc(time.Until(end), w.cutAll)
}
