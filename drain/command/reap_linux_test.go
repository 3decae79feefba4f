package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
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
	if reaped {
		defer running.ReapStrays()()
	}
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
	all.Wait()
	for late := time.Now().Add(10 * time.Second); reaped && len(zombies(os.Getpid())) > 0 && time.Now().Before(late); {
		time.Sleep(10 * time.Millisecond) // the system gives no word
	}
	fmt.Println(wrong.Load(), len(zombies(os.Getpid())))
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

// zombie is a child of this process, in a session of its own, that has ended and was not waited for.
func zombie(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("true")
	cmd.SysProcAttr = leader()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, is := zombies(os.Getpid())[cmd.Process.Pid]; is {
			return cmd
		}
		if time.Now().After(late) {
			t.Fatal("it does not end")
		}
	}
}

func TestReap(t *testing.T) {
	reaped := func(cmd *exec.Cmd) bool {
		_, fields := stat(strconv.Itoa(cmd.Process.Pid))
		return fields == nil
	}
	look := func(r *Running, seen map[int]sighting, now time.Time) (more bool) {
		return r.reap(seen, zombies(os.Getpid()), now)
	}
	now := time.Now()
	t.Run("nobody's", func(t *testing.T) {
		var r Running
		seen := map[int]sighting{}
		z := zombie(t)
		if !look(&r, seen, now) || !look(&r, seen, now.Add(strayAge-1)) || reaped(z) {
			t.Error("a zombie was not let be for whoever waits for it")
		}
		if look(&r, seen, now.Add(strayAge)) || !reaped(z) || len(seen) > 0 {
			t.Errorf("a stray is left: %v", seen)
		}
		if err := z.Wait(); !errors.Is(err, syscall.ECHILD) {
			t.Error(err)
		}
	})
	t.Run("a command's", func(t *testing.T) {
		z := zombie(t)
		p := &process{cmd: z}
		r := Running{processes: map[*process]struct{}{p: {}}}
		seen := map[int]sighting{}
		if look(&r, seen, now) || look(&r, seen, now.Add(time.Hour)) || reaped(z) {
			t.Error("a command's exit status was stolen")
		}
		if err := z.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("of a start that is under way", func(t *testing.T) {
		var r Running
		seen := map[int]sighting{}
		number := r.begin()
		z := zombie(t)
		later := r.begin()
		if !look(&r, seen, now) || !look(&r, seen, now.Add(time.Hour)) || reaped(z) {
			t.Error("the exit status of a command that is just started was stolen")
		}
		r.add(later, nil)
		if !look(&r, seen, now.Add(time.Hour)) || reaped(z) {
			t.Error("another start's end does for this one")
		}
		r.begin() // what starts later has not made it
		r.add(number, nil)
		if look(&r, seen, now.Add(time.Hour)) || !reaped(z) {
			t.Error("a stray is left")
		}
		z.Wait()
	})
	t.Run("in ebb's own session", func(t *testing.T) {
		cmd := exec.Command("true")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, fields := stat(strconv.Itoa(cmd.Process.Pid)); fields[0] == "Z" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		var r Running
		seen := map[int]sighting{}
		if look(&r, seen, now) || look(&r, seen, now.Add(time.Hour)) {
			t.Error("another's process is taken for a stray")
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("one that is no longer there, and whose number is that of a command by now", func(t *testing.T) {
		var r Running
		r.begin() // after it was seen
		z := zombie(t)
		pid := z.Process.Pid
		seen := map[int]sighting{pid: {born: "1", at: now.Add(-time.Hour)}}
		if r.reap(seen, map[int]string{pid: "1"}, now) || reaped(z) || len(seen) > 0 {
			t.Errorf("the exit status of a command was stolen for an older zombie's: %v", seen)
		}
		if err := z.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("another of the same number", func(t *testing.T) {
		var r Running
		z := zombie(t)
		seen := map[int]sighting{z.Process.Pid: {born: "1", at: now}}
		if !look(&r, seen, now.Add(strayAge)) || reaped(z) {
			t.Error("it was taken for one that was seen before")
		}
		z.Wait()
	})
}
