//go:build unix

package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

func cancelled(t *testing.T) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(t.Context())
}

func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// trapped is a script that answers SIGTERM by itself.
func trapped(answer string) string {
	return `trap "` + answer + `" TERM; sleep 600 & echo ready $$; wait`
}

// handle runs a command whose script says "ready $$", and returns its group's number and its answer to come.
func handle(t *testing.T, ctx context.Context, c Command) (group int, answer <-chan error) {
	t.Helper()
	return handleLogged(t, ctx, c, newPrinted())
}

func handleLogged(t *testing.T, ctx context.Context, c Command, log *printed) (group int, answer <-chan error) {
	t.Helper()
	c.Log = log.logger()
	got := make(chan error, 1)
	go func() { got <- c.Handle(ctx, drain.Job{}) }()
	group, err := strconv.Atoi(log.await(t, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	return group, got
}

func answered(t *testing.T, answer <-chan error) error {
	t.Helper()
	select {
	case err := <-answer:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the command holds the run")
		return nil
	}
}

// nothingLeft expects a group to be gone already: Handle promises it.
func nothingLeft(t *testing.T, group int) {
	t.Helper()
	if syscall.Kill(-group, 0) == nil && !onlyZombies(group) {
		t.Errorf("group %d is still there", group)
	}
}

func TestToldToEnd(t *testing.T) {
	const killAfter = 300 * time.Millisecond
	late := fmt.Sprintf(" (SIGTERM had not ended it after %s)", killAfter)
	for _, test := range []struct {
		name, script string
		meaning      meaning
		text         string
		least, most  time.Duration
	}{
		// find in its second script is one without an end here.
		{"child holds the pipes", `echo ready $$; sleep 600; true`, retried, "signal: terminated", 0, killAfter},
		{"pipeline", `echo ready $$; (while :; do find . ; done) | cat >/dev/null; true`, retried, "signal: terminated", 0, killAfter},
		{"ignores TERM", `trap "" TERM; echo ready $$; sleep 600`, retried, "signal: killed" + late, killAfter, 0},
		{"only its child ignores TERM", `trap "exit 4" TERM; (trap "" TERM; echo deaf; exec sleep 600) | (read deaf; echo ready $$; cat >/dev/null) & wait`,
			retried, "exit status 4", killAfter, 0},
		{"its child cleans up", `(trap "sleep 0.1; echo clean >&2; exit" TERM; sleep 600 & echo ready $$; wait) & wait`,
			retried, "signal: terminated: clean", 100 * time.Millisecond, killAfter},
		{"endless output", `echo ready $$; yes`, retried, "signal: terminated", 0, killAfter},
		{"endless output without lines", `echo ready $$; tr '\0' x </dev/zero`, retried, "signal: terminated", 0, killAfter},

		{"done all the same", trapped("exit 0"), done, "", 0, killAfter},
		{"fails for good", trapped("exit 65"), failed, "exit status 65", 0, killAfter},
		{"suspends", trapped("exit 69"), suspended, "exit status 69", 0, killAfter},
		{"foreseen", trapped("exit 75"), foreseen, "exit status 75", 0, killAfter},
		{"not its settings", trapped("exit 78"), retried, "exit status 78", 0, killAfter},
		{"says why", trapped("echo why >&2; exit 143"), retried, "exit status 143: why", 0, killAfter},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := cancelled(t)
			c := shell(test.script)
			c.KillAfter = killAfter
			group, answer := handle(t, ctx, c)
			told := time.Now()
			cancel(drain.ErrStopped)
			err := answered(t, answer)
			took := time.Since(told)
			nothingLeft(t, group)
			if meant(err) != test.meaning || text(err) != test.text {
				t.Errorf("%v: %q, want %v: %q", meant(err), text(err), test.meaning, test.text)
			}
			most := test.most
			if most == 0 {
				most = killAfter + goneWait
			}
			if took < test.least || took > most+3*time.Second {
				t.Errorf("took %s, want %s to %s", took, test.least, most)
			}
		})
	}
}

// Stubborn commands and endless output, with the default of five seconds from TERM to KILL.
func TestTimeout(t *testing.T) {
	for _, test := range []struct {
		command   string
		timeout   time.Duration
		text      string // begins with
		killAfter time.Duration
	}{
		{`sh -c 'sleep 600; true'`, 2 * time.Second, "signal: terminated", 0},
		{`sh -c 'find / | cat >/dev/null; sleep 600; true'`, 2 * time.Second, "signal: terminated", 0},
		{`sh -c 'trap "" TERM; sleep 600'`, 2 * time.Second, "signal: killed (SIGTERM had not ended it after 5s)", 5 * time.Second},
		{`yes`, 3 * time.Second, "signal: terminated", 0},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := timeout(t, test.timeout)
			defer cancel()
			start := time.Now()
			err := line(t, test.command).Handle(ctx, drain.Job{})
			took := time.Since(start)
			if meant(err) != retried || !strings.HasPrefix(text(err), test.text) {
				t.Errorf("%v, want %s", err, test.text)
			}
			if least := test.timeout + test.killAfter; took < least || took > least+3*time.Second {
				t.Errorf("took %s, want %s", took, least)
			}
		})
	}
}

// What a command leaves behind when it ends by itself.
func TestStrays(t *testing.T) {
	for _, test := range []struct {
		name, script string
		text         string
		warned       bool
		most         time.Duration
	}{
		{"holds the pipes", `echo ready $$; sleep 600 & exit 0`, "", true, outputWait},
		{"holds the pipes and ignores TERM", `echo ready $$; (trap "" TERM; exec sleep 600) & exit 3`, "exit status 3", true, outputWait},
		{"holds nothing", `echo ready $$; sleep 600 >/dev/null 2>&1 </dev/null & exit 0`, "", true, 0},
		{"still printing", `echo ready $$; (sleep 0.2; echo late >&2) & exit 3`, "exit status 3: late", false, outputWait},
		{"prints without end", `echo ready $$; yes & exit 3`, "exit status 3", true, outputWait},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			log := newPrinted()
			group, answer := handleLogged(t, t.Context(), shell(test.script), log)
			err := answered(t, answer)
			if text(err) != test.text {
				t.Errorf("%q, want %q", text(err), test.text)
			}
			nothingLeft(t, group)
			warned := slices.Contains(log.all(), "WARN killed what the command left running queue= id=0")
			if warned != test.warned {
				t.Errorf("warned: %v, in %.500q", warned, log.all())
			}
			if took := time.Since(start); took > test.most+3*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// A process that left the group stays, and keeps nobody waiting though it holds all three pipes.
func TestStrayInASessionOfItsOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("setsid(1) is Linux's")
	}
	log := newPrinted()
	// The payload is more than the pipe holds, so that its writer is waiting as well.
	c := shell(`setsid sh -c 'echo stray $$; exec sleep 600' & until [ -e "$READY" ]; do sleep 0.01; done; exit 3`)
	marker := filepath.Join(t.TempDir(), "ready")
	c.Env = append(c.Env, "READY="+marker)
	c.Log = log.logger()
	answer := make(chan error, 1)
	go func() { answer <- c.Handle(t.Context(), drain.Job{Payload: make([]byte, 1<<20)}) }()
	stray, err := strconv.Atoi(log.await(t, "stray"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(stray, syscall.SIGKILL) }()
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := answered(t, answer); text(err) != "exit status 3" {
		t.Error(err)
	}
	if err := syscall.Kill(stray, 0); err != nil {
		t.Errorf("the stray is gone: %v", err)
	}
}

func TestGroupOfItsOwn(t *testing.T) {
	log := newPrinted()
	c := shell(`echo group $(ps -o pgid= -p $$); echo pid $$`)
	c.Log = log.logger()
	if err := c.Handle(t.Context(), drain.Job{}); err != nil {
		t.Fatal(err)
	}
	if group, pid := log.await(t, "group"), log.await(t, "pid"); group != pid || group == fmt.Sprint(syscall.Getpgrp()) {
		t.Errorf("group %s, pid %s", group, pid)
	}
}

// Commands that run at the same time do not hold each other's pipes open, and leave no descriptor open.
func TestManyAtOnce(t *testing.T) {
	before := descriptors(t)
	answers := make(chan error, 50)
	for i := range cap(answers) {
		go func() {
			answers <- shell(fmt.Sprintf(`cat >/dev/null; echo %d >&2; exit 1`, i)).Handle(t.Context(), drain.Job{Payload: make([]byte, 100_000)})
		}()
	}
	for range cap(answers) {
		if err := answered(t, answers); !strings.HasPrefix(text(err), "exit status 1: ") {
			t.Error(err)
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A command that ended by itself was not told to, though its time was up by the moment that was seen.
func TestOwnEndGoesFirst(t *testing.T) {
	p, err := start(exec.Command("sh", "-c", "exit 78"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.pipes.close()
	<-p.exited
	ctx, cancel := cancelled(t)
	cancel(drain.ErrStopped)
	for range 50 { // which of the two is seen first is chance
		if e := p.await(ctx, nil, time.Second); e != (ending{}) {
			t.Fatalf("%+v", e)
		}
	}
}

func TestStraysWithoutALog(t *testing.T) {
	if err := shell(`sleep 600 >/dev/null 2>&1 & exit 0`).Handle(t.Context(), drain.Job{}); err != nil {
		t.Error(err)
	}
}
