package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
)

func TestExitStatus(t *testing.T) {
	lost := errors.New("connection reset")
	wrongHandler := drain.Report{Misconfigured: []string{"a"}, FailedForGood: 1, DueLeft: 1}
	for _, test := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing wrong", nil, 0},
		{"a mistake in what was typed", wrong("x"), 78},
		{"mistakes in the settings", asUsage(errors.Join(errors.New("a"), errors.New("b"))), 78},
		{"the schema, by drain", runEnd{err: fmt.Errorf("x: %w", drain.ErrRefused)}, 78},
		{"the schema, by schema", fmt.Errorf("x: %w", schema.ErrRefused), 78},
		{"refused goes before all else", runEnd{err: drain.ErrRefused, report: wrongHandler, strict: true}, 78},
		{"a command failed", lost, 1},
		{"a status that was explained", answered(5), 5},
		{"a run ended", runEnd{}, 0},
		{"a run ended, much is left", runEnd{report: drain.Report{DueLeft: 3, Failed: 1, FailedForGood: 1, Unhandled: 2, Suspended: []string{"a"}}}, 0},
		{"strict, nothing left", runEnd{strict: true, report: drain.Report{Looked: true}}, 0},
		{"strict, due left", runEnd{strict: true, report: drain.Report{Looked: true, DueLeft: 3}}, 3},
		{"strict, what is left is not known", runEnd{strict: true}, 3},
		{"strict, unhandled", runEnd{strict: true, report: drain.Report{Looked: true, Unhandled: 3}}, 0},
		{"strict, failed by the reaper", runEnd{strict: true, report: drain.Report{Looked: true, Reaped: 1, FailedForGood: 1}}, 4},
		{"strict, both", runEnd{strict: true, report: drain.Report{Looked: true, DueLeft: 3, FailedForGood: 1}}, 4},
		{"misconfigured", runEnd{report: drain.Report{Misconfigured: []string{"a"}}}, 5},
		{"abandoned", runEnd{report: drain.Report{Abandoned: 1}}, 5},
		{"misconfigured goes before strict", runEnd{strict: true, report: wrongHandler}, 5},
		{"the run failed", runEnd{err: lost}, 1},
		{"the run failed goes before the handlers", runEnd{err: lost, report: wrongHandler, strict: true}, 1},
		{"the run failed, some abandoned", runEnd{err: lost, report: drain.Report{Abandoned: 9}}, 1},
		{"the run failed, for all are abandoned", runEnd{err: drain.ErrAbandoned, report: drain.Report{Abandoned: 10}}, 5},
	} {
		if got := exitStatus(test.err); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// What a function's caller is told has no more certainty than the count.
func TestWhyDueLeft(t *testing.T) {
	for left, want := range map[int]string{7: "due jobs that are left: 7", 10_007: "due jobs that are left: at least 10007"} {
		if got := (runEnd{strict: true, report: drain.Report{Looked: true, DueLeft: left}}).why(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
