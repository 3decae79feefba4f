//go:build unix

package local_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
)

// A signal while a handler works under a pause: ebb connects again at once, so that the time of a slow resume is not
// missing at the end of the grace, when there is something to settle.
func TestStopsUnderAPause(t *testing.T) {
	t.Parallel()
	r := newRig(t, local.ComputeOptions{ResumeTime: 4 * time.Second, IdleTimeout: 3 * time.Second})
	r.insert(`VALUES ('{}', now())`)
	r.wake(2, func() drain.Report {
		e := r.start(`exec sleep 60`, "EBB_GRACE=9s")
		await(t, "the handler's first pause", 20*time.Second, func() bool { return r.did(local.Paused, e.began) })
		signalled := time.Now()
		e.Process.Signal(syscall.SIGTERM)
		report := e.wait(0)
		took := time.Since(signalled)
		if report.Released != 1 || report.Stopped != drain.StoppedSignal || took > 9*time.Second {
			t.Errorf("after %v: %+v", took, report)
		}
		return report
	})
	r.want(`SELECT concat_ws(' ', status, attempts, lost) FROM ebb.jobs`, "queued 0 1")
	r.nothingBetweenRuns()
}
