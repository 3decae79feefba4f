package deploy

import (
	"fmt"

	"github.com/seed829e008e/ebb/schedule"
)

// An origin is a limit for the runs' environment, and where its value comes from, for a comment.
type origin struct{ Name, Value, Why string }

// origins are the limits that go into the environment of the runs.
func (a Asked) origins(l Limits) []origin {
	all := []origin{
		{"EBB_MAX_RUNTIME", setting(l.Budget), fmt.Sprintf("derived: three quarters of the shortest gap, %s; an hour at most", schedule.Length(l.Gap))},
		{"EBB_GRACE", setting(l.Grace), "derived: 20s, or a quarter of EBB_MAX_RUNTIME where that is less"},
		{"EBB_JOB_TIMEOUT", setting(l.JobTimeout), "derived: 5m, or half of EBB_MAX_RUNTIME - EBB_GRACE where that is less"},
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
