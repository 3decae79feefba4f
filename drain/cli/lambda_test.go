package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/lambda"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// function is a program as [program.lambda] makes invocations of it, and what it prints.
func function(t *testing.T, environ ...string) (*program, prepared, *buffer) {
	t.Helper()
	stdout := &buffer{}
	p := &program{
		started: time.Now().Add(-time.Hour), environ: append([]string{"PATH=" + os.Getenv("PATH")}, environ...),
		stdin: strings.NewReader(""), stdout: stdout, stderr: newScreen(&buffer{}), running: &command.Running{},
	}
	r, err := p.prepare(given{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, r, stdout
}

// Deploy/validate has all of this in AWS's own emulator.
func TestInvocation(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	p, r, stdout := function(t, "DATABASE_URL="+url, "EBB_QUEUE_MAIL_COMMAND=cat", "EBB_STRICT=true")
	for range 2 {
		do(t, db, `insert into ebb.jobs (queue, payload) values ('mail', '{}')`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		answer, err := p.invocation(ctx, r)
		cancel()
		var report drain.Report
		if err != nil || json.Unmarshal(answer, &report) != nil || report.Done != 1 || report.RunMS > time.Minute.Milliseconds() {
			t.Errorf("%s, %v", answer, err)
		}
		if !strings.HasSuffix(stdout.String(), string(answer)) {
			t.Errorf("the summary %s is not printed: %s", answer, stdout)
		}
	}

	// Too little time: no statement was made, so the job that is due was not even looked at.
	do(t, db, `insert into ebb.jobs (queue, payload) values ('mail', '{}')`)
	before := text(t, db, `select count(*)::text from ebb.jobs_runs`)
	r.config.JobTimeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := p.invocation(ctx, r)
	if f := (lambda.Failure{}); !errors.As(err, &f) || f.Kind != "Ebb.Exit78" {
		t.Error(err)
	}
	if after := text(t, db, `select count(*)::text from ebb.jobs_runs`); after != before {
		t.Errorf("%s runs, there were %s", after, before)
	}
}

// A failure is one line that has the status, the reason and the summary.
func TestFailureOf(t *testing.T) {
	looked := drain.Report{Looked: true, Stopped: drain.StoppedEmpty}
	with := func(change func(*drain.Report)) drain.Report {
		r := looked
		change(&r)
		return r
	}
	for _, test := range []struct {
		err  error
		kind string
		text string // what it begins with
		has  string
	}{
		{usage{errors.Join(errors.New("EBB_BATCH: no"), errors.New("EBB_GRACE: no"))}, "Ebb.Exit78", "exit status 78: EBB_BATCH: no; EBB_GRACE: no", ""},
		{usage{errors.New("EBB_BATCH: hunter22 is no number")}, "Ebb.Exit78", "exit status 78: EBB_BATCH: ", ""},
		{runEnd{err: errors.New("it is\naway")}, "Ebb.Exit1", "exit status 1: it is; away; {", `"run":""`},
		{runEnd{err: drain.ErrAbandoned, report: with(func(r *drain.Report) { r.Abandoned = 3 })}, "Ebb.Exit5", "exit status 5: ", `"abandoned":3`},
		{runEnd{report: with(func(r *drain.Report) { r.Misconfigured = []string{"a", "b"} })}, "Ebb.Exit5", "exit status 5: queues whose handler is misconfigured, or could not be started: a, b; {", `"misconfigured":["a","b"]`},
		{runEnd{report: with(func(r *drain.Report) { r.Abandoned = 1 })}, "Ebb.Exit5", "exit status 5: handlers that did not return and were abandoned: 1; {", `"abandoned":1`},
		{runEnd{strict: true, report: with(func(r *drain.Report) { r.FailedForGood = 2 })}, "Ebb.Exit4", "exit status 4: jobs that failed for good: 2; {", `"stopped":"empty"`},
		{runEnd{strict: true, report: with(func(r *drain.Report) { r.DueLeft = 2 })}, "Ebb.Exit3", "exit status 3: due jobs that are left: 2; {", `"due_left":2`},
		{runEnd{strict: true, report: with(func(r *drain.Report) { r.Looked = false })}, "Ebb.Exit3", "exit status 3: the run ended before it could count what is left; {", `"due_left":null`},
	} {
		f := failureOf(test.err, nil)
		var run runEnd
		errors.As(test.err, &run)
		if f.Kind != test.kind || !strings.HasPrefix(f.Text, test.text) || !strings.Contains(f.Text, test.has) || strings.Contains(f.Text, "\n") ||
			f.Unfit != (run.report.Abandoned > 0) {
			t.Errorf("%v: %+v", test.err, f)
		}
		if at := strings.Index(f.Text, "; {"); at >= 0 && !json.Valid([]byte(f.Text[at+2:])) {
			t.Errorf("the end of %s is no summary", f.Text)
		}
	}
}
