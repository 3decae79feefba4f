package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// leaveStrays is a program that starts many short commands, and processes of its own. Each command leaves a stray behind
// that left its session, and one that is orphaned while the command runs. It prints how many exit statuses were not what
// they had to be, and how many zombies are left.
func leaveStrays(reaped bool) {
	var running Running
	var wrong atomic.Int32
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 25 {
				want := 1 + (i*4+worker)%60
				c := shell(fmt.Sprintf(`setsid sleep 0.0%d >/dev/null 2>&1 & (sh -c "exit 3" &) & sleep 0.0%d; exit %d`, i%10, i%7, want))
				c.Running = &running
				if err := c.Handle(context.Background(), drain.Job{}); text(err) != fmt.Sprintf("exit status %d", want) {
					wrong.Add(1)
					fmt.Fprintln(os.Stderr, err)
				}
			}
		})
		all.Go(func() {
			for i := range 25 {
				cmd := exec.Command("sh", "-c", fmt.Sprintf("sleep 0.0%d; exit 7", i%10))
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: i%2 == 0}
				if err := cmd.Run(); err == nil || err.Error() != "exit status 7" {
					wrong.Add(1)
					fmt.Fprintln(os.Stderr, err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	ended, reap, stop := Strays()
	defer stop()
	if !reaped {
		ended = nil
	}
	for working := true; working; {
		select {
		case <-ended:
			reap()
		case <-over:
			working = false
		}
	}
	for late := time.Now().Add(10 * time.Second); reaped && zombies() > 0 && time.Now().Before(late); {
		select {
		case <-ended:
			reap()
		case <-time.After(10 * time.Millisecond):
		}
	}
	fmt.Println(wrong.Load(), zombies())
}

// As the first process of a container: what commands leave behind does not stay, and no exit status is lost.
func TestReapStrays(t *testing.T) {
	for _, name := range []string{"strays", "strays, not reaped"} {
		ebb := program(t, name)
		args := []string{"--pid", "--fork", "--mount-proc", "--kill-child", ebb.Path}
		if out, err := exec.Command("unshare", append(args[:4:4], "true")...).CombinedOutput(); err != nil {
			schematest.Missing(t, "root", fmt.Sprintf("this user may make no process the first of a container: %v: %s", err, out))
		}
		first := exec.Command("unshare", args...)
		first.Env, first.Stderr = ebb.Env, os.Stderr
		out, err := first.Output()
		var wrong, left int
		if _, scanErr := fmt.Sscan(string(out), &wrong, &left); scanErr != nil || err != nil {
			t.Fatalf("%s: %q, %v, %v", name, out, err, scanErr)
		}
		if wrong > 0 || (left == 0) != (name == "strays") {
			t.Errorf("%s: %d wrong exit statuses, %d zombies are left", name, wrong, left)
		}
	}
}

// zombies counts the children of this process that have ended and were not waited for.
func zombies() (count int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	mine := fmt.Sprintf(" Z %d ", os.Getpid())
	for _, entry := range entries {
		stat, _ := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if strings.Contains(string(stat), ")"+mine) {
			count++
		}
	}
	return count
}

// reapOnFirstThread is a program that is given orphans, as the first process of a container is. It prints what became of
// children that it had started on its first thread before, which end before and after others, and whether strays that die
// in great number are kept.
func reapOnFirstThread() {
	const PR_SET_CHILD_SUBREAPER = 36
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, PR_SET_CHILD_SUBREAPER, 1, 0); errno != 0 {
		panic(errno)
	}
	early, late := exec.Command("sh", "-c", "exit 7"), exec.Command("sh", "-c", "read end; exit 8")
	end, _ := late.StdinPipe()
	if err := errors.Join(early.Start(), late.Start()); err != nil {
		panic(err)
	}
	ended, reap, stop := strays()
	defer stop()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 200 {
			if out, err := exec.Command("sh", "-c", "(setsid sleep 0.001 &) >/dev/null 2>&1").CombinedOutput(); err != nil {
				panic(fmt.Sprint(err, string(out)))
			}
		}
		end.Close()
	}()
	most := 0
	for working := true; working || len(children()) > 2; {
		select {
		case <-ended:
			reap()
			most = max(most, zombies())
		case <-over:
			working, over = false, nil
		}
	}
	fmt.Println(early.Wait(), late.Wait(), most < 20, zombies())
}

func TestReapNoneButStrays(t *testing.T) {
	out, err := program(t, "first thread").Output()
	if want := "exit status 7 exit status 8 true 0\n"; err != nil || string(out) != want {
		t.Errorf("%q, want %q, %v", out, want, err)
	}
}
