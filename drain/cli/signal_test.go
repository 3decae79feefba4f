package cli

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A session is a program that is still running, with a channel in place of the process's signals.
type session struct {
	program        *program
	signals        chan os.Signal
	status         chan int
	stdout, stderr *buffer
}

func begin(env []string, stdin io.Reader, handlers []drain.Queue, args ...string) session {
	s := session{signals: make(chan os.Signal, 8), status: make(chan int, 1), stdout: &buffer{}, stderr: &buffer{}}
	s.program = &program{
		started: time.Now(), environ: env, stdin: stdin, stdout: s.stdout, stderr: newScreen(s.stderr),
		handlers: handlers, running: &command.Running{},
	}
	go func() { s.status <- s.program.main(args, s.signals) }()
	return s
}

func (s session) end(t *testing.T, within time.Duration) invocation {
	t.Helper()
	select {
	case status := <-s.status:
		return invocation{status, s.stdout.String(), s.stderr.String()}
	case <-time.After(within):
		t.Fatalf("not ended within %v: %s", within, s.stderr)
		return invocation{}
	}
}

// The second signal ends everything, however fast it comes, and commands with it.
func TestSecondSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the handlers are shell commands")
	}
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	for _, test := range []struct {
		first, second os.Signal
		want          int
	}{
		{syscall.SIGTERM, syscall.SIGTERM, 143}, {os.Interrupt, os.Interrupt, 130}, {syscall.SIGTERM, os.Interrupt, 130},
	} {
		do(t, db, `truncate ebb.jobs`)
		do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
		s := begin([]string{"DATABASE_URL=" + url, "PATH=" + os.Getenv("PATH")}, nil, nil, "run", "--grace", "5m", "--", "sh", "-c", "trap '' TERM; echo pid $$; sleep 600")
		pid := waitForPID(t, s.stderr)
		s.signals <- test.first
		s.signals <- test.second
		got := s.end(t, 5*time.Second)
		if got.status != test.want {
			t.Errorf("%v, %v: exit %d, %s", test.first, test.second, got.status, got.stderr)
		}
		if r := got.summary(t); r.Stopped != drain.StoppedSignal || r.Claimed != 1 || r.Abandoned != 1 || strings.Count(got.stdout, "\n") != 1 {
			t.Errorf("summary %s", got.stdout)
		}
		waitUntilGone(t, pid)
	}
}

// waitForLog waits until a text is in the log of a program.
func waitForLog(t *testing.T, s session, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(s.stderr.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %q:\n%s", text, s.stderr)
		}
	}
}

func waitForPID(t *testing.T, log *buffer) int {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if _, rest, found := strings.Cut(log.String(), `"msg":"pid `); found {
			if digits, _, found := strings.Cut(rest, `"`); found {
				pid, err := parseCount(digits)
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("the command did not start: %s", log)
	return 0
}

func waitUntilGone(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	for end := time.Now().Add(5 * time.Second); err == nil && p.Signal(syscall.Signal(0)) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("the command %d is still there", pid)
			return
		}
	}
}

// The first signal stops a run as intended: what works may end, and the exit status is 0.
func TestFirstSignalOfARun(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	started, release := make(chan struct{}, 30), make(chan struct{})
	s := begin([]string{"DATABASE_URL=" + url}, nil, []drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error {
		started <- struct{}{}
		<-release
		return nil
	}}}, "run", "--concurrency", "1")
	<-started
	s.signals <- syscall.SIGTERM
	waitForLog(t, s, "stopping")
	close(release)
	got := s.end(t, 20*time.Second)
	if r := got.summary(t); got.status != 0 || r.Stopped != drain.StoppedSignal || r.Done != 1 || r.DueLeft != 29 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

// A signal while a command waits for something ends the wait: a database that is not there, or an input that goes on.
func TestFirstSignalWhileWaiting(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	for _, test := range []struct {
		args  []string
		want  int
		ready string // in the log, when the wait has begun
	}{
		{[]string{"run", "--", "sh"}, 0, "trying again"},
		{[]string{"migrate"}, 143, "trying again"},
		{[]string{"status"}, 143, "trying again"},
		{[]string{"enqueue", "mail", "{}"}, 143, "trying again"},
		{[]string{"enqueue", "mail"}, 143, ""},
		{[]string{"enqueue", "mail", "--lines"}, 143, ""},
		{[]string{"try", "mail", "--", "sh"}, 143, ""},
	} {
		env := []string{"DATABASE_URL=" + nowhere, "PATH=" + os.Getenv("PATH")}
		if test.args[0] == "try" {
			env = env[1:]
		}
		s := begin(env, r, nil, test.args...)
		waitForLog(t, s, test.ready)
		s.signals <- syscall.SIGTERM
		if got := s.end(t, 2*time.Second); got.status != test.want {
			t.Errorf("%v: exit %d, %s%s", test.args, got.status, got.stdout, got.stderr)
		}
	}
}
