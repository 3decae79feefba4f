package deploy

import (
	"fmt"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// Asked are the limits of a run that are set; zero where one is not.
type Asked struct {
	MaxRuntime, Grace, JobTimeout time.Duration
	// Queues are the timeouts of single queues.
	Queues []QueueTimeout
}

// A QueueTimeout is the time one job of a queue may take, and the setting that says so.
type QueueTimeout struct {
	Setting string
	Timeout time.Duration
}

// limits are those of a run on a platform: JobTimeout + Grace < Budget < Deadline < Gap. Whole seconds, but for what was
// set.
type limits struct {
	JobTimeout, Grace time.Duration // EBB_JOB_TIMEOUT, EBB_GRACE
	Budget            time.Duration // EBB_MAX_RUNTIME
	Deadline          time.Duration // the platform ends the run
	Gap               time.Duration // the shortest between two starts
	Late              time.Duration // how late a run may still start
}

// A platform is what bounds a run besides its schedule.
type platform struct {
	limit   string        // what the limit is called
	longest time.Duration // the most that it may be; zero where there is no such bound
	reserve time.Duration // what a run keeps of it for its answer
}

const (
	usualBudget = time.Hour        // as in drain.Config
	usualGrace  = 20 * time.Second // as in drain.Config
	usualJob    = 5 * time.Minute  // as in drain.Config
	mostLate    = 10 * time.Minute
	mostMargin  = 5 * time.Minute // between the end of budget and grace and the platform's limit
)

// within derives the limits that are not set from the shortest gap and from what the platform allows, and refuses those
// that are set and do not fit. The budget is three quarters of the gap, an hour at most, and longer where a job timeout
// needs it; the platform's limit lies half way between that, with the grace, and the next run, five minutes behind at
// most.
func (a Asked) within(set schedule.Set, from time.Time, p platform) (limits, error) {
	gap := set.Gaps(from, set.Horizon(from)).Shortest
	l := limits{Gap: gap.Length(), Grace: a.Grace, Budget: a.MaxRuntime, JobTimeout: a.JobTimeout}
	l.Late = min(l.Gap/2, mostLate).Truncate(time.Second)
	ceiling, why := l.Gap, fmt.Sprintf("the shortest gap of EBB_SCHEDULE, %s (%s to %s)", schedule.Length(l.Gap), gap.From.Format(stamp), gap.To.Format(stamp))
	if p.longest > 0 && p.longest < l.Gap {
		ceiling, why = p.longest, fmt.Sprintf("%s, %s", p.limit, schedule.Length(p.longest))
	}
	longest, setting := a.longest()
	if l.Budget == 0 {
		l.Budget = min(usualBudget, l.Gap*3/4)
		if p.longest > 0 {
			l.Budget = min(l.Budget, p.longest*9/10)
		}
		l.Budget = l.Budget.Truncate(time.Second)
		if needs := longest + a.graceIn(l.Budget); longest > 0 && l.Budget <= needs && needs < ceiling {
			l.Budget = (needs + min((ceiling-needs)/3, needs/4)).Truncate(time.Second)
		}
	} else if l.Budget >= ceiling {
		return l, fmt.Errorf("EBB_MAX_RUNTIME %s is no less than %s: shorten it, or unset it, and it is derived", schedule.Length(l.Budget), why)
	}
	l.Grace = a.graceIn(l.Budget)
	if l.JobTimeout == 0 {
		l.JobTimeout = min(usualJob, (l.Budget-l.Grace)/2).Truncate(time.Second)
	}
	switch {
	case l.Grace >= l.Budget:
		return l, fmt.Errorf("EBB_GRACE %s is no less than %s", schedule.Length(l.Grace), a.budget(l, why))
	case longest+l.Grace >= l.Budget:
		return l, fmt.Errorf("%s %s and EBB_GRACE %s together are no less than %s", setting, schedule.Length(longest), schedule.Length(l.Grace), a.budget(l, why))
	}
	ends := l.Budget
	if l.Budget+l.Grace < l.Gap { // a budget that was set may leave less
		ends += l.Grace
	}
	l.Deadline = (ends + min((l.Gap-ends)/2, mostMargin)).Truncate(time.Second)
	if p.longest > 0 {
		l.Deadline = min(l.Deadline, p.longest)
	}
	if room := l.Deadline - p.reserve; p.reserve > 0 && longest+l.Grace >= room {
		return l, fmt.Errorf("%s %s and EBB_GRACE %s together are no less than %s, what the platform's limit of %s leaves a run: shorten them, or have runs start less often",
			setting, schedule.Length(longest), schedule.Length(l.Grace), schedule.Length(room), schedule.Length(l.Deadline))
	}
	if l.Deadline <= l.Budget {
		return l, fmt.Errorf("EBB_MAX_RUNTIME %s leaves no time before the end of %s: shorten it, or unset it, and it is derived", schedule.Length(l.Budget), why)
	}
	return l, nil
}

// budget names the budget for a message, and where it comes from if it was not set.
func (a Asked) budget(l limits, why string) string {
	if a.MaxRuntime > 0 {
		return fmt.Sprintf("EBB_MAX_RUNTIME %s: shorten them, or lengthen it", schedule.Length(l.Budget))
	}
	return fmt.Sprintf("%s, the longest run within %s: shorten them, or have runs start less often", schedule.Length(l.Budget), why)
}

// graceIn is the grace that a run with a budget has, as in drain.Config.
func (a Asked) graceIn(budget time.Duration) time.Duration {
	if a.Grace > 0 {
		return a.Grace
	}
	return min(usualGrace, (budget / 4).Truncate(time.Second))
}

// longest is the longest job timeout that is set, and its setting.
func (a Asked) longest() (longest time.Duration, setting string) {
	longest, setting = a.JobTimeout, "EBB_JOB_TIMEOUT"
	for _, q := range a.Queues {
		if q.Timeout > longest {
			longest, setting = q.Timeout, q.Setting
		}
	}
	return longest, setting
}

// stamp is how times are told in messages and comments.
const stamp = "2006-01-02 15:04 MST"
