//go:build unix

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed829e008e/ebb/drain"
)

var _ drain.Handler = Command{}.Handle

func path() []string { return []string{"PATH=" + os.Getenv("PATH")} }

func shell(script string) Command { return Command{Args: []string{"sh", "-c", script}, Env: path()} }

// line is a command as a user writes it.
func line(t *testing.T, text string) Command {
	args, err := Split(text)
	if err != nil {
		t.Fatal(err)
	}
	return Command{Args: args, Env: path()}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		command string
		meaning meaning
		text    string
	}{
		{`true`, done, ""},
		{`false`, retried, "exit status 1"},
		{`sh -c 'echo working; exit 3'`, retried, "exit status 3"},
		{`sh -c 'echo no such host >&2; exit 3'`, retried, "exit status 3: no such host"},
		{`sh -c 'echo a >&2; echo b >&2; exit 3'`, retried, "exit status 3: a\nb"},
		{`sh -c 'echo fine >&2'`, done, ""},
		{`sh -c 'echo bad address >&2; exit 65'`, failed, "exit status 65: bad address"},
		{`sh -c 'exit 69'`, suspended, "exit status 69"},
		{`sh -c 'exit 75'`, foreseen, "exit status 75"},
		{`sh -c 'exit 78'`, misconfigured, "exit status 78"},
		{`sh -c 'exit 126'`, misconfigured, "exit status 126"},
		{`sh -c 'exec no-such-program 2>&-'`, misconfigured, "exit status 127"},
		{`sh -c 'kill -SEGV $$'`, retried, "signal: segmentation fault"},
		{`sh -c 'echo so >&2; kill -KILL $$'`, retried, "signal: killed: so"},
		{`sh -c "printf 'bad \\377\\376 bytes' >&2; exit 1"`, retried, "exit status 1: bad \uFFFD bytes"},
		{`sh -c "printf 'nul \\000 here' >&2; exit 1"`, retried, "exit status 1: nul \x00 here"},
		{`sh -c "printf 'D\\374sseldorf' >&2; exit 1"`, retried, "exit status 1: D\uFFFDsseldorf"},
	} {
		t.Run(test.command, func(t *testing.T) {
			err := line(t, test.command).Handle(t.Context(), drain.Job{})
			got := strings.Replace(text(err), " (core dumped)", "", 1)
			if meant(err) != test.meaning || got != test.text {
				t.Errorf("%v: %q, want %v: %q", meant(err), got, test.meaning, test.text)
			}
		})
	}
	t.Run("random bytes", func(t *testing.T) {
		err := shell(`head -c 4096 /dev/urandom >&2; exit 1`).Handle(t.Context(), drain.Job{})
		if got := text(err); !utf8.ValidString(got) || !strings.HasPrefix(got, "exit status 1: [...]") || len(got) > 3*tailSize+100 {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	})
}

func TestPayloadComesByteForByte(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, payload := range []string{
		`{"id": 9007199254740993}`, `{"id": 1234567890123456789}`, `{"n": -9223372036854775808}`, `{"n": 18446744073709551616}`,
		`{"p": 1.10}`, `{"e": 1` + strings.Repeat("0", 400) + `}`, `{"s": "<a>&\u2028"}`, "{\"s\": \"<a>&\u2028\"}", "null", "",
		strings.Repeat("[", 10001) + strings.Repeat("]", 10001), `"` + strings.Repeat("x", 4<<20) + `"`,
	} {
		c := shell(`cat >"$OUT"`)
		c.Env = append(c.Env, "OUT="+out)
		if err := c.Handle(t.Context(), drain.Job{Payload: json.RawMessage(payload)}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != payload {
			t.Errorf("%.60q came as %.60q, %v", payload, got, err)
		}
	}
}

func TestPayloadIsNotRead(t *testing.T) {
	payload := bytes.Repeat([]byte("x"), 4<<20)
	for _, test := range []struct{ command, text string }{
		{`true`, ""},
		{`head -c1 >/dev/null`, ""},
		{`sh -c 'head -c1 >/dev/null'`, ""},
		{`sh -c 'exec 0<&-; sleep 1; exit 0'`, ""},
		{`sh -c 'exit 3'`, "exit status 3"},
		{`sleep 2`, ""},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			c := line(t, test.command)
			if c.Args[0] == "head" {
				c.Args = c.Args[:2] // the redirection of the case needs a shell: this is the same without one
			}
			if got := text(c.Handle(t.Context(), drain.Job{Payload: payload})); got != test.text {
				t.Errorf("%q, want %q", got, test.text)
			}
		})
	}
}

func TestSecretsAreWithheld(t *testing.T) {
	own := []string{"DATABASE_URL=postgres://u:pw-one@h/d", "PGPASSWORD=pw-two", "AWS_SECRET_ACCESS_KEY=theirs", "FOO=bar",
		"EBB_TOKEN=pw-three", "EBB_JOB_ID=of another run"}
	job := drain.Job{ID: 12, Queue: "email", Attempt: 1, MaxAttempts: 5}
	for _, script := range []string{`env >&2; exit 1`, `env`} {
		log := newPrinted()
		c := shell(script)
		env, withheld := Environ(own, nil)
		c.Env, c.Withheld, c.Log = append(c.Env, env...), withheld, log.logger()
		err := c.Handle(t.Context(), job)

		seen := text(err) + "\n" + strings.Join(log.all(), "\n")
		if strings.Contains(seen, "pw-") || strings.Contains(seen, "of another run") {
			t.Errorf("%s shows a secret: %s", script, seen)
		}
		for _, want := range []string{"FOO=bar", "AWS_SECRET_ACCESS_KEY=theirs", "EBB_JOB_ID=12", "EBB_JOB_QUEUE=email"} {
			if !strings.Contains(seen, want) {
				t.Errorf("%s: no %s in %s", script, want, seen)
			}
		}
		if note := " (withheld from the command: DATABASE_URL, PGPASSWORD, EBB_*; EBB_PASS_ENV names exceptions)"; err != nil && !strings.HasSuffix(text(err), note) {
			t.Errorf("%q does not end in %q", text(err), note)
		}
	}

	c := shell(`echo "$DATABASE_URL" >&2; exit 1`)
	env, withheld := Environ(own[:1], []string{"DATABASE_URL"})
	c.Env, c.Withheld = append(c.Env, env...), withheld
	if got := text(c.Handle(t.Context(), job)); got != "exit status 1: postgres://u:pw-one@h/d" {
		t.Errorf("passed on: %q", got)
	}
}

// A log that takes its time loses nothing of what a command printed before its end.
func TestSlowLog(t *testing.T) {
	seen := make(chan struct{})
	c := shell(`head -c 45000 /dev/zero | tr '\0' '\n' >&2; echo the end >&2; echo line`)
	c.Log = slog.New(slow{newPrinted(), func() { <-seen }})
	time.AfterFunc(lastWait/4, func() { close(seen) })
	c.Args[2] = `echo first >&2; ` + c.Args[2] + `; exit 3`
	if err := c.Handle(t.Context(), drain.Job{}); !strings.HasSuffix(text(err), "the end") {
		t.Errorf("%.200q", text(err))
	}
}

// slow is a log that waits before each line.
type slow struct {
	*printed
	wait func()
}

func (s slow) Handle(ctx context.Context, r slog.Record) error {
	s.wait()
	return s.printed.Handle(ctx, r)
}

func TestLog(t *testing.T) {
	log := newPrinted()
	c := shell(`echo out; echo err >&2; printf 'no end'`)
	c.Log = log.logger()
	if err := c.Handle(t.Context(), drain.Job{ID: 7, Queue: "email"}); err != nil {
		t.Fatal(err)
	}
	got := log.all()
	slices.Sort(got)
	want := []string{
		"INFO err queue=email id=7 stream=stderr",
		"INFO no end queue=email id=7 stream=stdout",
		"INFO out queue=email id=7 stream=stdout",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Output of any length, of commands that end by themselves.
func TestLongOutput(t *testing.T) {
	for _, test := range []struct {
		script string
		lines  int
	}{
		{`head -c 70000 /dev/zero | tr '\0' x`, 1},
		{`head -c 70000 /dev/zero | tr '\0' x; echo done; exit 0`, 1},
		{`yes | head -c 524288000`, maxLines + 1}, // 500M in the words of GNU
		{`yes | head -c 524288000 >&2`, maxLines + 1},
	} {
		log := newPrinted()
		c := shell(test.script)
		c.Log = log.logger()
		if err := c.Handle(t.Context(), drain.Job{}); err != nil {
			t.Error(test.script, err)
		}
		if got := log.all(); len(got) != test.lines {
			t.Errorf("%s: %d lines, want %d", test.script, len(got), test.lines)
		}
	}
}

func TestNotStartedAfterTheEnd(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	ctx, cancel := cancelled(t)
	cancel(drain.ErrStopped)
	err := Command{Args: []string{"touch", marker}, Env: path()}.Handle(ctx, drain.Job{})
	if meant(err) != retried || text(err) != "the command was not started: the run is stopping" {
		t.Error(err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it ran")
	}
}

func TestDeadlineIsSeen(t *testing.T) {
	log := newPrinted()
	c := shell(`echo "deadline $EBB_JOB_DEADLINE"`)
	c.Log = log.logger()
	ctx, cancel := timeout(t, time.Minute)
	defer cancel()
	if err := c.Handle(ctx, drain.Job{}); err != nil {
		t.Fatal(err)
	}
	deadline, err := time.Parse(time.RFC3339, log.await(t, "deadline"))
	if err != nil || time.Until(deadline) > time.Minute || time.Until(deadline) < 30*time.Second {
		t.Error(deadline, err)
	}
}
