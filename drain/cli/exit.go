package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
)

// The exit statuses; 128 + n after a signal that ended everything comes on top.
const (
	ended         = 0  // as intended: empty, a limit, the first signal; the summary's "stopped" says which
	failed        = 1  // the database was out of reach or lost, or refused a statement
	dueLeft       = 3  // EBB_STRICT: due jobs are left
	failedForGood = 4  // EBB_STRICT: a job failed for good in this run
	misconfigured = 5  // a handler is misconfigured, was abandoned or could not be started; the other queues were drained first
	refused       = 78 // usage, settings or schema: nothing was claimed
)

// exitStatus is the one place that decides. Where several apply the first of these does:
//
//	78  nothing was claimed, because something has to be set right first
//	 5  the run failed because every slot is held by a handler that does not return
//	 1  the run failed
//	 5  a handler is misconfigured, was abandoned or could not be started
//	 4  with EBB_STRICT, a job failed for good
//	 3  with EBB_STRICT, due jobs are left
//	 0
func exitStatus(err error) int {
	var run runEnd
	isRun := errors.As(err, &run)
	switch {
	case err == nil:
		return ended
	case errors.As(err, new(usage)), errors.Is(err, drain.ErrRefused), errors.Is(err, schema.ErrRefused):
		return refused
	case errors.As(err, new(answered)):
		return int(err.(answered))
	case !isRun:
		return failed
	case errors.Is(run.err, drain.ErrAbandoned):
		return misconfigured
	case run.err != nil:
		return failed
	case len(run.report.Misconfigured) > 0, run.report.Abandoned > 0:
		return misconfigured
	case run.strict && run.report.FailedForGood > 0:
		return failedForGood
	case run.strict && (run.report.DueLeft > 0 || !run.report.Looked):
		return dueLeft
	}
	return ended
}

// A runEnd is how a run ended. It is an error for the way back through the command tree only.
type runEnd struct {
	report drain.Report
	err    error
	strict bool
}

func (r runEnd) Error() string {
	if r.err == nil {
		return "the run ended as intended"
	}
	return r.err.Error()
}

func (r runEnd) Unwrap() error { return r.err }

// why says in words what the exit status of a run is for.
func (r runEnd) why() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case len(r.report.Misconfigured) > 0:
		return "queues whose handler is misconfigured, or could not be started: " + strings.Join(r.report.Misconfigured, ", ")
	case r.report.Abandoned > 0:
		return fmt.Sprintf("handlers that did not return and were abandoned: %d", r.report.Abandoned)
	case r.strict && r.report.FailedForGood > 0:
		return fmt.Sprintf("jobs that failed for good: %d", r.report.FailedForGood)
	case r.strict && r.report.DueLeft > 0:
		return "due jobs that are left: " + counted(r.report.DueLeft)
	}
	return "the run ended before it could count what is left"
}

func isRun(err error) bool { return errors.As(err, new(runEnd)) }

// An answered is an exit status whose reason was printed already.
type answered int

func (a answered) Error() string { return fmt.Sprintf("exit status %d", int(a)) }

// A usage is a mistake in what was typed or set.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

func wrong(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// explain prints why a command failed, a line each. Runs have logged that already.
func (p *program) explain(err error) {
	if err == nil || isRun(err) || errors.As(err, new(answered)) {
		return
	}
	secrets := withheld(p.args, environment(p.environ))
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(p.stderr, "ebb: %s\n", p.secrets.Redact(secrets.line(strings.TrimRight(line, "\n"))))
	}
}
