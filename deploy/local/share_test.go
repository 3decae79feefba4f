//go:build unix

package local_test

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schedule"
)

// What ebb plan predicts is what a compute does: the awake share of a wake a minute, predicted from how long a run and
// a resume took, against the awake time of the compute. The rest of the minute it is paused, as other tests show.
func TestPredictedShare(t *testing.T) {
	t.Parallel()
	const idle = 20 * time.Second // long, so that what a busy machine adds stays within the five percent
	r := newRig(t, local.ComputeOptions{ResumeTime: time.Second, IdleTimeout: idle})
	r.insert(`VALUES ('{}', now())`)
	r.untilPaused()
	before := r.Usage().Awake
	report := r.start(`exec sleep 2`).wait(0)
	r.untilPaused()
	awake := r.Usage().Awake - before

	every, err := schedule.Parse("* * * * *")
	if err != nil {
		t.Fatal(err)
	}
	resume := time.Duration(report.ConnectMS) * time.Millisecond
	from := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	verdict := schedule.Set{every}.Verdict(schedule.Compute{
		IdleTimeout: idle, Resume: resume,
		PauseLatency: 350 * time.Millisecond, // half of the half second between two looks, and the server's own end
	}, time.Duration(report.RunMS)*time.Millisecond-resume, from, from.Add(time.Hour))
	measured := float64(awake) / float64(time.Minute)
	if ratio := verdict.Share / measured; report.Done != 1 || ratio < 0.95 || ratio > 1.05 {
		t.Errorf("predicted %.1f %%, measured %.1f %%: %v awake, %+v", 100*verdict.Share, 100*measured, awake, report)
	}
	t.Logf("predicted %.1f %%, measured %.1f %%", 100*verdict.Share, 100*measured)
}
