package cli

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

func TestTry(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the handlers are shell commands")
	}
	for _, test := range []struct {
		script string
		status int
		says   string
	}{
		{"cat", 0, "stdout: {\"id\":9007199254740993}\nthe job would be done\n"},
		{"exit 65", 1, "last_error: exit status 65\nthe job would have failed for good\n"},
		{"exit 69", 1, "last_error: exit status 69\nsuspended: the job would be given back, due again in 10s, and its queue would stop for the run\n"},
		{"echo later >&2; exit 75", 1, "stderr: later\nlast_error: exit status 75: later\na failed attempt: the job would be queued again in 20s\n"},
		{"exit 78", 5, "last_error: exit status 78\nmisconfigured: the job would be given back, due again in 10s, and the run would exit with 5\n"},
		{"exit 126", 5, "last_error: exit status 126\nmisconfigured: the job would be given back, due again in 10s, and the run would exit with 5\n"},
		{"no-such-program 2>/dev/null", 5, "last_error: exit status 127\nmisconfigured: the job would be given back, due again in 10s, and the run would exit with 5\n"},
		{"exit 3", 1, "last_error: exit status 3\na failed attempt: the job would be queued again in 20s\n"},
		{"kill -9 $$", 1, "last_error: signal: killed\na failed attempt: the job would be queued again in 20s\n"},
		{"echo $EBB_JOB_QUEUE $EBB_JOB_ATTEMPT $EBB_JOB_MAX_ATTEMPTS [$EBB_JOB_LAST_ERROR]", 0, "stdout: mail 1 5 []\nthe job would be done\n"},
	} {
		got := setup{stdin: `{"id":9007199254740993}` + "\n"}.ebb("try", "mail", "--", "sh", "-c", test.script)
		if got.status != test.status || got.stdout != test.says {
			t.Errorf("%s: exit %d, %s%s\nwant %d, %s", test.script, got.status, got.stdout, got.stderr, test.status, test.says)
		}
	}
}

// A handler that this machine is too short of something to start.
func TestTryNotStarted(t *testing.T) {
	handler := drain.Queue{Name: "mail", Handler: func(context.Context, drain.Job) error { return drain.NotStarted(errors.New("no files")) }}
	got := setup{handlers: []drain.Queue{handler}, stdin: "{}"}.ebb("try", "mail")
	if want := "last_error: no files\nnot started: the job would be given back as it was, its queue would stop for the run, and the run would exit with 5\n"; got.status != 5 || got.stdout != want {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

// What leads to the database is withheld, and that is said; names only.
func TestTryWithholds(t *testing.T) {
	env := map[string]string{
		"DATABASE_URL": "postgres://joe:secretive@db/jobs", "PGPASSWORD": "secretive", "AWS_SECRET_ACCESS_KEY": "mine", "FOO": "bar",
		"EBB_QUEUE_MAIL_COMMAND": "sh -c 'env; env >&2; exit 1'",
	}
	got := setup{env: env, stdin: "{}"}.ebb("try", "mail")
	if got.status != 1 || strings.Contains(got.stdout+got.stderr, "secretive") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	for _, line := range []string{"stdout: FOO=bar\n", "stderr: AWS_SECRET_ACCESS_KEY=mine\n",
		"(withheld from the command: DATABASE_URL, PGPASSWORD, EBB_*; EBB_PASS_ENV names exceptions)\n"} {
		if !strings.Contains(got.stdout, line) {
			t.Errorf("no line %sin\n%s", line, got.stdout)
		}
	}
	env["EBB_PASS_ENV"] = "DATABASE_URL, PGPASSWORD"
	if got := (setup{env: env, stdin: "{}"}).ebb("try", "mail"); !strings.Contains(got.stdout, "stdout: PGPASSWORD=[redacted]\n") {
		t.Errorf("not passed: %s", got.stdout)
	}
}

func TestTryGo(t *testing.T) {
	handler := func(ctx context.Context, job drain.Job) error {
		switch string(job.Payload) {
		case "1":
			return errors.New("no paper")
		case "2":
			panic("no printer")
		case "3":
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	s := setup{handlers: []drain.Queue{{Name: "print", Handler: handler, Timeout: 50 * time.Millisecond}}}
	for payload, says := range map[string]string{
		"0": "the job would be done\n",
		"1": "last_error: no paper\n",
		"2": "last_error: panic: string: no printer\n",
		"3": "last_error: timed out after 50ms: context deadline exceeded\n",
	} {
		s.stdin = payload
		got := s.ebb("try", "print")
		if (got.status == 0) != (payload == "0") || !strings.HasPrefix(got.stdout, says) {
			t.Errorf("%s: exit %d, %s%s", payload, got.status, got.stdout, got.stderr)
		}
	}
}

// The argument names the queue, whatever else is set, and as it is.
func TestTryTakesItsArgument(t *testing.T) {
	for _, name := range []string{"mail", "a,b", `a\,b`} {
		got := setup{stdin: "{}", env: map[string]string{"EBB_QUEUES": "other"}}.ebb("try", name, "--", "sh", "-c", "echo =$EBB_JOB_QUEUE=")
		if got.status != 0 || !strings.Contains(got.stdout, "="+name+"=") {
			t.Errorf("%s: exit %d, %s%s", name, got.status, got.stdout, got.stderr)
		}
	}
}

func TestTryRefuses(t *testing.T) {
	for _, test := range []struct {
		stdin string
		args  []string
	}{
		{"{", []string{"try", "a", "--", "sh"}},
		{"", []string{"try", "a", "--", "sh"}},
		{`{"a":"x\u0000y"}`, []string{"try", "a", "--", "sh"}},
		{"{}", []string{"try", "a"}},
		{"{}", []string{"try", "a", "--", "no-such-program"}},
		{"{}", []string{"try", "a", "--job-timeout", "5", "--", "sh"}},
	} {
		if got := (setup{stdin: test.stdin}).ebb(test.args...); got.status != 78 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: ") {
			t.Errorf("%v < %q: exit %d, %s%s", test.args, test.stdin, got.status, got.stdout, got.stderr)
		}
	}
}
