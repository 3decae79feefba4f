//go:build unix

package local_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
)

// A rig is a compute with ebb's tables, and a file that handlers write a line to for each job that they did.
type rig struct {
	*compute
	out  string
	runs []span // of the processes of ebb
}

type span struct{ from, to time.Time }

func newRig(t *testing.T, opt local.ComputeOptions) *rig {
	t.Helper()
	r := &rig{compute: startCompute(t, opt), out: filepath.Join(t.TempDir(), "out")}
	r.with("migrate", func(conn *pgx.Conn) error { return schema.Migrate(t.Context(), conn, "ebb", nil) })
	return r
}

// An ebb is the program as a process.
type ebb struct {
	*exec.Cmd
	r              *rig
	began          time.Time
	stdout, stderr bytes.Buffer
}

// start starts ebb run with these settings, and a handler that is a shell's command.
func (r *rig) start(handler string, settings ...string) *ebb {
	r.Helper()
	e := &ebb{Cmd: exec.Command(os.Args[0], "run", "--queue", "default", "--", "sh", "-c", handler), r: r, began: time.Now()}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EBB_") && !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "DATABASE_URL") {
			e.Env = append(e.Env, v)
		}
	}
	e.Env = append(append(e.Env, "EBB_TEST_BE=ebb", "DATABASE_URL="+r.URL(), "OUT="+r.out), settings...)
	e.Stdout, e.Stderr = &e.stdout, &e.stderr
	if err := e.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { e.Process.Kill() })
	return e
}

// wait waits for ebb's end and gives its summary.
func (e *ebb) wait(status int) drain.Report {
	e.r.Helper()
	timer := time.AfterFunc(time.Minute, func() { e.Process.Kill() })
	defer timer.Stop()
	e.Cmd.Wait()
	e.r.runs = append(e.r.runs, span{e.began, time.Now()})
	if got := e.ProcessState.ExitCode(); got != status {
		e.r.Fatalf("exit status %d, want %d\nstdout: %s\nstderr: %s", got, status, &e.stdout, &e.stderr)
	}
	var report drain.Report
	json.Unmarshal(e.stdout.Bytes(), &report) // the zero report where there is no summary
	return report
}

// wake is one run of ebb, from a compute that is paused to one that is paused again. It resumes the compute so many
// times, and keeps it awake for no longer than it takes (resume included, less what the compute was paused meanwhile),
// an idle timeout and some slack.
func (r *rig) wake(resumes int, run func() drain.Report) drain.Report {
	r.Helper()
	r.untilPaused()
	before, began := r.Usage(), time.Now()
	report := run()
	took := time.Since(began)
	r.untilPaused()
	after := r.Usage()
	if after.Resumes-before.Resumes != resumes || after.Pauses-before.Pauses != resumes {
		r.Errorf("%d resumes and %d pauses, want %d\n%+v", after.Resumes-before.Resumes, after.Pauses-before.Pauses, resumes, report)
	}
	awake, most := after.Awake-before.Awake, took+r.idleTimeout+slack-r.pausedWithin(began)
	r.Logf("a run of %v, connected after %d ms: awake for %v", took.Round(time.Millisecond), report.ConnectMS, awake.Round(time.Millisecond))
	if awake > most {
		r.Errorf("awake for %v, want %v at most\n%+v", awake, most, report)
	}
	return report
}

// pausedWithin is how long the compute was paused between its first and its last resume since then.
func (r *rig) pausedWithin(began time.Time) (total time.Duration) {
	var at time.Time
	for _, e := range r.since(began) {
		switch {
		case e.What == local.Paused:
			at = e.At
		case e.What == local.Resuming && !at.IsZero():
			total += e.At.Sub(at)
		}
	}
	return total
}

// nothingBetweenRuns says that ebb opened no connection but while one of its processes lived.
func (r *rig) nothingBetweenRuns() {
	r.Helper()
	open := 0
	for _, e := range r.since(time.Time{}) {
		if e.Client != "ebb" {
			continue
		}
		switch e.What {
		case local.Opened, local.Resuming:
			within := false
			for _, run := range r.runs {
				within = within || e.At.After(run.from) && e.At.Before(run.to)
			}
			if !within {
				r.Errorf("ebb is there between runs: %v", e)
			}
			if e.What == local.Opened {
				open++
			}
		case local.Closed:
			open--
		}
	}
	if open != 0 {
		r.Errorf("%d connections of ebb's are open", open)
	}
}

// opened counts ebb's connections since a time.
func (r *rig) opened(since time.Time) (n int) {
	for _, e := range r.since(since) {
		if e.What == local.Opened && e.Client == "ebb" {
			n++
		}
	}
	return n
}

func (r *rig) insert(values string) {
	r.Helper()
	r.do("INSERT INTO ebb.jobs (payload, run_at) " + values)
}

func (r *rig) want(sql, want string) {
	r.Helper()
	if got := r.ask(sql); got != want {
		r.Errorf("%s: got %s, want %s", sql, got, want)
	}
}

// lines are what handlers wrote.
func (r *rig) lines() []string {
	text, _ := os.ReadFile(r.out)
	return strings.Fields(string(text))
}
