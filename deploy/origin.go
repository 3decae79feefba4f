package deploy

import (
	"fmt"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// An origin is a limit for the runs' environment, and where its value comes from, for a comment.
type origin struct{ Name, Value, Why string }

// origins are the limits that go into the environment of the runs.
func (a Asked) origins(l limits) []origin {
	all := []origin{
		{"EBB_MAX_RUNTIME", schedule.Exact(l.Budget), fmt.Sprintf("derived: three quarters of the shortest gap, %s; an hour at most", schedule.Length(l.Gap))},
		{"EBB_GRACE", schedule.Exact(l.Grace), "derived: 20s, or a quarter of EBB_MAX_RUNTIME where that is less"},
		{"EBB_JOB_TIMEOUT", schedule.Exact(l.JobTimeout), "derived: 5m, or half of EBB_MAX_RUNTIME - EBB_GRACE where that is less"},
	}
	if longest, which := a.longest(); longest > 0 {
		all[0].Why = fmt.Sprintf("derived: within the shortest gap, %s, and long enough for %s", schedule.Length(l.Gap), which)
	}
	for i, asked := range []bool{a.MaxRuntime > 0, a.Grace > 0, a.JobTimeout > 0} {
		if asked {
			all[i].Why = "as set"
		}
	}
	return all
}

// origins are those of the limits that go into the environment of the runs, on a platform with a longest run of its own.
func (p platform) origins(a Asked, l limits) []origin {
	all := a.origins(l)
	if longest, _ := a.longest(); a.MaxRuntime == 0 && longest == 0 && p.longest > 0 && l.Budget == p.longest*9/10 {
		all[0].Why = fmt.Sprintf("derived: nine tenths of %s, %s", p.limit, schedule.Length(p.longest))
	}
	return all
}

// withGrace is within, and the origins, on a platform that kills sooner than ebb's usual grace ends: where none is set, it
// is no longer than most. The reason is the platform's.
func (a Asked) withGrace(set schedule.Set, from time.Time, p platform, most time.Duration, why string) (limits, []origin, error) {
	bounded := a
	l, err := bounded.within(set, from, p)
	if a.Grace == 0 && l.Grace > most {
		bounded.Grace = most
		l, err = bounded.within(set, from, p)
	}
	if err != nil {
		return l, nil, err
	}
	all := p.origins(a, l)
	switch {
	case bounded.Grace > a.Grace:
		all[1].Why = "derived: " + why
	case l.Grace > most:
		all[1].Why = "as set, though " + why
	}
	return l, all, nil
}
