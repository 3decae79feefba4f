package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/deploy/lambda"
)

// lambda answers the invocations of an AWS Lambda function with a run each. The settings are read once, for they are
// the process's. A mistake in them ends no process, which AWS would start again and again and say no more of than its exit
// status: it is logged, and fails every invocation with the same text.
func (p *program) lambda(ctx context.Context) error {
	defer p.running.ReapStrays()()
	r, err := p.prepare(given{}, nil)
	p.explain(err)
	r.config.Notice, r.resident = lambda.Notice, true
	lambda.Serve(ctx, func(ctx context.Context) (answer []byte, failure error) {
		if err != nil {
			failure = failureOf(err, withheld(p.args, environment(p.environ)))
		} else {
			answer, failure = p.invocation(ctx, r)
		}
		if f := (lambda.Failure{}); errors.As(failure, &f) {
			f.Text = p.secrets.Redact(f.Text)
			failure = f
		}
		return answer, failure
	})
	return nil
}

// invocation is one run within the time that the platform gives.
func (p *program) invocation(ctx context.Context, r prepared) (answer []byte, err error) {
	started := time.Now()
	if deadline, ok := ctx.Deadline(); ok {
		left := invocationLimit(deadline.Sub(started))
		if err := r.fit(left); err != nil {
			r.config.Log.Error("the run is refused", "error", err)
			return nil, failureOf(err, nil)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, started.Add(left.forRun()))
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
