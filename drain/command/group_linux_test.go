package command

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// The tests below run their programs by executing the test binary again.
const programVariable = "COMMAND_TEST_PROGRAM"

// As for the first process of a container, where the package sees to it.
func init() {
	if os.Getenv(programVariable) == "first thread" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	switch os.Getenv(programVariable) {
	case "":
		os.Exit(m.Run())
	case "run":
		c := shell(`echo ready $$; exec sleep 600`)
		c.Log = slog.New(slog.NewTextHandler(os.Stdout, nil))
		fmt.Println(c.Handle(context.Background(), drain.Job{}))
	case "first":
		// As the first process of a container, this one is given the children of those who died before them.
		const PR_SET_CHILD_SUBREAPER = 36
		if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, PR_SET_CHILD_SUBREAPER, 1, 0); errno != 0 {
			fmt.Println(errno)
		}
		start := time.Now()
		err := shell(`sleep 600 & sleep 600 >/dev/null 2>&1 & exit 3`).Handle(context.Background(), drain.Job{})
		_, waitErr := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		fmt.Println(err, waitErr, time.Since(start) < outputWait+goneWait)
	case "strays":
		leaveStrays(true)
	case "first thread":
		reapOnFirstThread()
	case "strays, not reaped":
		leaveStrays(false)
	}
}

func program(t *testing.T, name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), programVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestKilledWithEbb(t *testing.T) {
	ebb := program(t, "run")
	out, err := ebb.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ebb.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ebb.Wait() }()
	defer func() { _ = ebb.Process.Kill() }()
	lines := bufio.NewScanner(out)
	pid := 0
	for pid == 0 && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), `"ready `); ok {
			digits, _, _ := strings.Cut(after, `"`)
			pid, _ = strconv.Atoi(digits)
		}
	}
	if pid == 0 {
		t.Fatal("the command did not start")
	}
	if err := ebb.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			t.Fatal("the command outlives ebb")
		}
	}
}

// alive does not count zombies: who inherits them may take its time, or never wait for them.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestFirstProcessOfAContainer(t *testing.T) {
	out, err := program(t, "first").Output()
	if err != nil || string(out) != "exit status 3 no child processes true\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// The death signal comes when the thread that started the command ends. Threads end with goroutines that are locked to
// them, so many of those must not take a command along.
func TestThreadsThatEndHarmNoCommand(t *testing.T) {
	var answers []<-chan error
	for range 20 {
		_, answer := handle(t, t.Context(), shell(`echo ready $$; sleep 0.5`))
		answers = append(answers, answer)
		var held, ended sync.WaitGroup
		end := make(chan struct{})
		for range 20 { // at once, so that every thread is among them that is free
			held.Add(1)
			ended.Go(func() {
				runtime.LockOSThread() // and no unlock: the thread ends
				held.Done()
				<-end
			})
		}
		held.Wait()
		close(end)
		ended.Wait()
	}
	for _, answer := range answers {
		if err := answered(t, answer); err != nil {
			t.Error(err)
		}
	}
}
