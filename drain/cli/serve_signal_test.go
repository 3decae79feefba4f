package cli

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// The first signal stops the run in progress as in ebb run: what works may end, the rest is given back, and callers get the
// summary. What those hear who wait for another run is told in deploy/serve.
func TestServeFirstSignal(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"},
		counting(begun, release), "serve", "--concurrency", "1")
	first := make(chan reply, 1)
	go func() { first <- s.run() }()
	<-begun
	if r := s.ask("GET", "/healthz", ""); r.text != "{\"state\":\"running\"}\n" {
		t.Errorf("health: %+v", r)
	}
	s.signals <- syscall.SIGTERM
	waitForLog(t, s.session, "stopping")
	close(release)
	if r := <-first; r.status != 200 || r.report.Stopped != drain.StoppedSignal || r.report.Done != 1 || r.report.DueLeft != 29 {
		t.Errorf("the run in progress: %+v", r)
	}
	got := s.end(t, 20*time.Second)
	if !strings.Contains(got.stderr, `"serving no longer","why":"stopped by a signal: terminated"`) {
		t.Errorf("the log does not say why: %s", got.stderr)
	}
	if r := got.summary(t); got.status != 0 || r.Stopped != drain.StoppedSignal || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if left := text(t, db, `select count(*)::text from ebb.jobs where status = 'running'`); left != "0" {
		t.Errorf("%s jobs are still running", left)
	}
}

// What came of the run that the signal stopped is the exit status; what came of those before it is not.
func TestServeExitStatus(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	begun, release := make(chan struct{}, 2), make(chan struct{}, 2)
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"},
		[]drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error {
			begun <- struct{}{}
			<-release
			return drain.Misconfigured(errors.New("a setting is wrong"))
		}}}, "serve")
	for _, signal := range []bool{false, true} {
		do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
		answer := make(chan reply, 1)
		go func() { answer <- s.run() }()
		<-begun
		if signal {
			s.signals <- syscall.SIGTERM
			waitForLog(t, s.session, "stopping")
		}
		release <- struct{}{}
		if r := <-answer; r.status != 500 || r.exit != "5" {
			t.Errorf("%+v", r)
		}
	}
	if got := s.end(t, 10*time.Second); got.status != 5 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
	s = serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0", "EBB_CONNECT_TIMEOUT": "10ms"}, nil, "serve", "--", "sh")
	if r := s.run(); r.status != 500 || r.exit != "1" || r.report.Stopped != drain.StoppedError {
		t.Errorf("%+v", r)
	}
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 10*time.Second); got.status != 0 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

func TestServeSecondSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the handlers are shell commands")
	}
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"}, nil,
		"serve", "--grace", "5m", "--", "sh", "-c", "trap '' TERM; echo pid $$; sleep 600")
	go s.run()
	pid := waitForPID(t, s.stderr)
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	got := s.end(t, 5*time.Second)
	if r := got.summary(t); got.status != 143 || r.Stopped != drain.StoppedSignal || r.Abandoned != 1 || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	waitUntilGone(t, pid)
	// Between runs there is nothing to say, and no summary of an earlier one is said again.
	s = serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"}, nil, "serve", "--", "true")
	s.run()
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 5*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s", got.status, got.stdout)
	}
}
