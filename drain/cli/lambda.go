package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/deploy/lambda"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schedule"
)

// lambda answers the invocations of an AWS Lambda function with a run each. The settings are read once, for they are
// the process's. A mistake in them ends no process, which AWS would start again and again and say no more of than its exit
// status: it is logged, and fails every invocation with the same text.
func (p *program) lambda(ctx context.Context) error {
	defer p.running.ReapStrays()()
	r, err := p.prepare(given{}, nil)
	p.explain(err)
	r.config.Notice, r.resident = lambda.Notice, true
	lambda.Serve(ctx, func(ctx context.Context) ([]byte, error) {
		if err != nil {
			return nil, failureOf(err, withheld(p.args, environment(p.environ)))
		}
		return p.invocation(ctx, r)
	})
	return nil
}

// invocation is one run within the time that the platform gives.
func (p *program) invocation(ctx context.Context, r prepared) (answer []byte, err error) {
	started := time.Now()
	if deadline, ok := ctx.Deadline(); ok {
		left := deadline.Sub(started)
		if err := r.fit(left); err != nil {
			r.config.Log.Error("the run is refused", "error", err)
			return nil, failureOf(err, nil)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve(left)))
		defer cancel()
	}
	end := p.runOnce(ctx, r, started)
	if exitStatus(end) != ended {
		return nil, failureOf(end, nil)
	}
	var run runEnd
	errors.As(end, &run)
	return summaryJSON(run.report), nil
}

// reserve is how long before the platform's limit a run is to be over: the run's record may take two seconds beyond the
// budget, and the answer needs its way.
func reserve(left time.Duration) time.Duration { return min(3*time.Second, left/10) }

// fit says which settings the platform's limit is too short for.
func (r prepared) fit(left time.Duration) error {
	const so = "nothing was claimed; lengthen the function's timeout"
	if left < time.Second {
		return wrong("the function has %s left, which is no time for a run: %s", schedule.Length(max(0, left)), so)
	}
	config := r.config
	config.MaxRuntime = min(cmp.Or(config.MaxRuntime, left), left-reserve(left))
	if config.Check() == nil {
		return nil
	}
	grace := cmp.Or(config.Grace, min(20*time.Second, config.MaxRuntime/4)) // as in drain.Config
	var longest drain.Queue
	for _, q := range config.Queues {
		if q.Timeout = cmp.Or(q.Timeout, config.JobTimeout); q.Timeout > longest.Timeout {
			longest = q
		}
	}
	leaves := fmt.Sprintf("the function's timeout of %s leaves a run %s", schedule.Length(left), schedule.Length(config.MaxRuntime))
	if longest.Timeout == 0 {
		return wrong("%s, and EBB_GRACE %s does not fit into that: %s, or shorten it", leaves, schedule.Length(grace), so)
	}
	return wrong("%s, and %s %s and EBB_GRACE %s together do not fit into that: %s, or shorten them",
		leaves, r.settings.timeoutOf(longest), schedule.Length(longest.Timeout), schedule.Length(grace), so)
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

// failureOf is an end that is not 0, in one line: the exit status that the program would have, why, and the summary
// where there is one. An abandoned handler still runs, so that the process must not go on.
func failureOf(err error, secrets withholding) lambda.Failure {
	why, f := err.Error(), lambda.Failure{}
	var run runEnd
	if errors.As(err, &run) {
		why = run.why() + "\n" + string(summaryJSON(run.report))
		f.Unfit = run.report.Abandoned > 0
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(why)) {
		lines = append(lines, secrets.line(strings.TrimSpace(line)))
	}
	status := exitStatus(err)
	f.Kind = fmt.Sprintf("Ebb.Exit%d", status)
	f.Text = fmt.Sprintf("exit status %d: %s", status, strings.Join(lines, "; "))
	return f
}

// why says in words what the exit status of a run is for.
func (r runEnd) why() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case len(r.report.Misconfigured) > 0:
		return "misconfigured: " + strings.Join(r.report.Misconfigured, ", ")
	case r.report.Abandoned > 0:
		return fmt.Sprintf("%d handlers did not return and were abandoned", r.report.Abandoned)
	case r.strict && r.report.FailedForGood > 0:
		return fmt.Sprintf("%d jobs failed for good", r.report.FailedForGood)
	case r.strict && r.report.DueLeft > 0:
		return fmt.Sprintf("%d due jobs are left", r.report.DueLeft)
	}
	return "what is left is not known"
}
