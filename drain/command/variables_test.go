package command

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

func TestVariables(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	ctx, cancel := context.WithDeadline(t.Context(), time.Date(2040, 1, 2, 5, 4, 5, 678901234, zone))
	defer cancel()
	job := drain.Job{ID: 9007199254740993, Queue: "a b", Attempt: 2, MaxAttempts: 5, Run: "r1", LastError: "no\nluck",
		RunAt: time.Date(2026, 8, 1, 1, 0, 0, 0, zone)}
	want := []string{
		"EBB_JOB_ATTEMPT=2", "EBB_JOB_DEADLINE=2040-01-02T03:04:05.678901Z", "EBB_JOB_ID=9007199254740993",
		"EBB_JOB_LAST_ERROR=no\nluck", "EBB_JOB_MAX_ATTEMPTS=5", "EBB_JOB_QUEUE=a b", "EBB_JOB_RUN_AT=2026-07-31T23:00:00.000000Z",
		"EBB_RUN_ID=r1",
	}
	if got := slices.Sorted(slices.Values(variables(ctx, job))); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	got := variables(t.Context(), drain.Job{})
	if !slices.Contains(got, "EBB_JOB_RUN_AT=-infinity") || !slices.Contains(got, "EBB_JOB_LAST_ERROR=") {
		t.Errorf("first attempt, due since ever: %q", got)
	}
	if slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "EBB_JOB_DEADLINE") }) {
		t.Errorf("a deadline without one: %q", got)
	}
}
