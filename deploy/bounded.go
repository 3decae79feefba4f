package deploy

import (
	"fmt"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// origins are those of the limits that go into the environment of the runs, on a platform with a longest run of its own.
func (p platform) origins(a Asked, l Limits) []origin {
	all := a.origins(l)
	if longest, _ := a.longest(); a.MaxRuntime == 0 && longest == 0 && p.longest > 0 && l.Budget == p.longest*9/10 {
		all[0].Why = fmt.Sprintf("derived: nine tenths of %s, %s", p.limit, schedule.Length(p.longest))
	}
	return all
}

// withGrace is within, and the origins, on a platform that kills sooner than ebb's usual grace ends: where none is set, it
// is no longer than most. The reason is the platform's.
func (a Asked) withGrace(set schedule.Set, from time.Time, p platform, most time.Duration, why string) (Limits, []origin, error) {
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
