package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schedule"
)

// A limit is the time after which a platform cuts off whoever has not answered.
type limit struct {
	time     time.Duration
	name     string
	lengthen string // what to do where it is too short
}

// invocationLimit is what an invocation of a Lambda function has left.
func invocationLimit(left time.Duration) limit {
	return limit{max(0, left), "the function's timeout", "lengthen the function's timeout"}
}

// usualRequest is how long a service of Cloud Run lets a request take unless it is told otherwise.
const usualRequest = 5 * time.Minute

// requestLimit is how long a request may take on Cloud Run. Where the platform does not say, the budget is believed, whose
// platform's limit is after it then; and else the limit is the usual one.
func requestLimit(environ map[string]string, budget time.Duration) (limit, error) {
	const variable = "CLOUD_RUN_TIMEOUT_SECONDS"
	l := limit{name: "the request timeout", lengthen: "lengthen the service's request timeout"}
	switch text := strings.TrimSpace(environ[variable]); {
	case text != "":
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil || seconds == 0 {
			return l, fmt.Errorf("%s: %q is not a number of seconds; use that of the service's request timeout, for example 600", variable, text)
		}
		l.time = time.Duration(seconds) * time.Second
	case budget > 0:
		l.time = budget + 4*time.Second // more than what is reserved of it
	default:
		l = limit{usualRequest, "the usual request timeout", "set EBB_MAX_RUNTIME to a little less than the service's request timeout"}
	}
	return l, nil
}

// forRun is how long a run may take, which is to be over before the limit: its record may take two seconds beyond the
// budget, and the answer needs its way.
func (l limit) forRun() time.Duration { return l.time - min(3*time.Second, l.time/10) }

// fit says which settings the platform's limit is too short for.
func (r prepared) fit(l limit) error {
	so := "nothing was claimed; " + l.lengthen
	if l.time < time.Second {
		return wrong("%s leaves %s, which is no time for a run: %s", l.name, schedule.Length(l.time), so)
	}
	config := r.config
	config.MaxRuntime = min(config.WithDefaults().MaxRuntime, l.forRun())
	if config.Check() == nil {
		return nil
	}
	full := config.WithDefaults()
	longest := slices.MaxFunc(full.Queues, func(a, b drain.Queue) int { return cmp.Compare(a.Timeout, b.Timeout) })
	leaves := fmt.Sprintf("%s of %s leaves a run %s", l.name, schedule.Length(l.time), schedule.Length(full.MaxRuntime))
	if longest.Timeout <= 0 { // none is set, and the grace leaves none
		return wrong("%s, and EBB_GRACE %s does not fit into that: %s, or shorten it", leaves, schedule.Length(full.Grace), so)
	}
	return wrong("%s, and %s %s and EBB_GRACE %s together do not fit into that: %s, or shorten them",
		leaves, r.settings.timeoutOf(longest), schedule.Length(longest.Timeout), schedule.Length(full.Grace), so)
}

// timeoutOf is the setting that says how long a job of the queue may take.
func (c Config) timeoutOf(q drain.Queue) string {
	for name, g := range c.Groups {
		if cmp.Or(g.Name, strings.ToLower(name)) == q.Name && g.Timeout > 0 {
			return groupPrefix + name + "_TIMEOUT"
		}
	}
	if q.Timeout == c.JobTimeout {
		return "EBB_JOB_TIMEOUT"
	}
	return "the timeout of the queue " + q.Name
}
