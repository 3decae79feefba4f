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

// limits are those of a run on a platform: JobTimeout + Grace < Budget < Budget + Grace < Deadline < Gap. Whole seconds, but for what was
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
	longest, which := a.longest()
	if l.Budget == 0 {
		l.Budget = min(usualBudget, l.Gap*3/4)
		if p.longest > 0 {
			l.Budget = min(l.Budget, p.longest*9/10)
		}
		l.Budget = whole(l.Budget)
		needs := longest + a.graceIn(l.Budget)
		switch room := ceiling - a.graceIn(l.Budget); {
		case needs >= room:
			return l, a.refuse("too long for a run within "+why, which, longest, a.graceIn(l.Budget))
		case l.Budget > needs && l.Budget < room:
		default:
			l.Budget = whole(needs + min((room-needs)/2, needs/4))
		}
	}
	l.Grace = a.graceIn(l.Budget)
	if l.JobTimeout == 0 {
		l.JobTimeout = whole(min(usualJob, (l.Budget-l.Grace)/2))
	}
	l.Deadline = whole(l.Budget + l.Grace + min((l.Gap-l.Budget-l.Grace)/2, mostMargin))
	if p.longest > 0 {
		l.Deadline = min(l.Deadline, p.longest)
	}
	switch room := l.Deadline - p.reserve; {
	case l.Budget >= ceiling:
		return l, fmt.Errorf("EBB_MAX_RUNTIME %s is no less than %s: shorten it, or unset it, and it is derived", schedule.Exact(l.Budget), why)
	case longest+l.Grace >= l.Budget:
		return l, a.refuse("no less than EBB_MAX_RUNTIME "+schedule.Exact(l.Budget), which, longest, l.Grace)
	case l.Budget+l.Grace >= l.Deadline:
		return l, fmt.Errorf("EBB_MAX_RUNTIME %s and EBB_GRACE %s together leave no time before the end of %s: shorten them, or unset EBB_MAX_RUNTIME, and it is derived",
			schedule.Exact(l.Budget), schedule.Exact(l.Grace), why)
	case longest+l.Grace >= room:
		return l, a.refuse(fmt.Sprintf("no less than %s, what the platform's limit of %s leaves a run", schedule.Exact(room), schedule.Exact(l.Deadline)), which, longest, l.Grace)
	}
	return l, nil
}

// refuse says that the grace, with the longest job timeout where one is set, is too long.
func (a Asked) refuse(what, which string, longest, grace time.Duration) error {
	if longest == 0 {
		return fmt.Errorf("EBB_GRACE %s is %s: shorten it", schedule.Exact(grace), what)
	}
	return fmt.Errorf("%s %s and EBB_GRACE %s together are %s: shorten them", which, schedule.Exact(longest), schedule.Exact(grace), what)
}

// whole cuts a duration to whole seconds, or milliseconds where it is under one.
func whole(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Truncate(time.Millisecond)
	}
	return d.Truncate(time.Second)
}

// graceIn is the grace that a run with a budget has, as in drain.Config.
func (a Asked) graceIn(budget time.Duration) time.Duration {
	if a.Grace > 0 {
		return a.Grace
	}
	return min(usualGrace, whole(budget/4))
}

// longest is the longest job timeout that is set, and its setting.
func (a Asked) longest() (longest time.Duration, which string) {
	longest, which = a.JobTimeout, "EBB_JOB_TIMEOUT"
	for _, q := range a.Queues {
		if q.Timeout > longest {
			longest, which = q.Timeout, q.Setting
		}
	}
	return longest, which
}

// stamp is how times are told in messages and comments.
const stamp = "2006-01-02 15:04 MST"
