//go:build unix

package command

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// RC-46: at a second signal everything ends at once, whatever it ignores.
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
	for i, answer := range answers {
		if err := answered(t, answer); meant(err) != retried || text(err) != "signal: killed" {
			t.Error(err)
		}
		nothingLeft(t, groups[i])
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %s", took)
	}
	if err := c.Handle(t.Context(), drain.Job{}); text(err) != "signal: killed" {
		t.Errorf("started later: %v", err)
	}
	if len(running.processes) != 0 {
		t.Errorf("%d are taken for running", len(running.processes))
	}
}
