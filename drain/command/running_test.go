//go:build unix

package command

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// At a second signal everything ends at once, whatever it ignores.
func TestRunningKill(t *testing.T) {
	var running Running
	c := shell(`trap "" TERM; echo ready $$; sleep 600`)
	c.Running = &running
	var groups []int
	var answers []<-chan error
	for range 3 {
		group, answer := handle(t, t.Context(), c)
		groups, answers = append(groups, group), append(answers, answer)
	}
	start := time.Now()
	running.Kill()
	running.Kill()
	if took := time.Since(start); took > time.Second {
		t.Errorf("Kill took %s: it waits for none of them", took)
	}
	for _, group := range groups {
		for syscall.Kill(-group, 0) == nil && !onlyZombies(group) && time.Since(start) < 10*time.Second {
			time.Sleep(time.Millisecond) // the system gives no word when a group is gone
		}
		nothingLeft(t, group)
	}
	for _, answer := range answers {
		select {
		case err := <-answer:
			t.Errorf("what was killed answers: %v", err)
		default:
		}
	}
}

// A command that was being started when everything was killed is killed as well.
func TestRunningKillsWhatStartsLater(t *testing.T) {
	var running Running
	running.Kill()
	p, err := running.start(exec.Command("sleep", "600"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.pipes.close()
	if !closed(p.exited, 20*time.Second) {
		p.kill()
		t.Error("it runs")
	}
}
