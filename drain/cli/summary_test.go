package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

func TestSummaryJSON(t *testing.T) {
	line := string(summaryJSON(drain.Report{Run: "r", Looked: true, Stopped: drain.StoppedEmpty, Error: "a <b> & \"c\"\nd"}))
	want := `{"run":"r","stopped":"empty","error":"a <b> & \"c\"\nd","claimed":0,"done":0,"retried":0,"failed":0,"released":0,"lost":0,` +
		`"abandoned":0,"reaped":0,"pruned":0,"vacuum":"","due_left":0,"unhandled":0,"leased":0,"next_due_at":null,"suspended":[],` +
		`"misconfigured":[],"connect_ms":0,"run_ms":0,"exchanges":0}` + "\n"
	if line != want {
		t.Errorf("got  %swant %s", line, want)
	}
	if line := string(summaryJSON(drain.Report{})); !strings.Contains(line, `"due_left":null,"unhandled":null,"leased":null`) {
		t.Errorf("what is not known is told as a number: %s", line)
	}
	if strings.Count(line, "\n") != 1 || !json.Valid([]byte(line)) {
		t.Errorf("not one line of JSON: %s", line)
	}
}

func TestSummaryText(t *testing.T) {
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.FixedZone("elsewhere", 3600))
	for want, r := range map[string]drain.Report{
		"stopped:  nothing due is left that this run may claim\njobs:     0 claimed, 0 done\nleft:     0 due; 2 exchanges in 50ms\n": {
			Looked: true, Stopped: drain.StoppedEmpty, Exchanges: 2, RunMS: 50},
		"stopped:  an error: it does not answer\njobs:     9 claimed, 1 done, 2 retried, 3 failed, 1 released, 1 abandoned, 1 lost; " +
			"4 reaped; suspended: a, b; misconfigured: c\n" +
			"left:     5 due, 6 due in queues without a handler here, 7 running elsewhere, the next one due at 2026-01-31T08:00:00Z; 3 exchanges in 1m5s\n": {
			Looked: true, Stopped: drain.StoppedError, Error: "it does not answer", Claimed: 9, Done: 1, Retried: 2, Failed: 3, Released: 1,
			Abandoned: 1, Lost: 1, Reaped: 4, Suspended: []string{"a", "b"}, Misconfigured: []string{"c"}, DueLeft: 5,
			Unhandled: 6, Leased: 7, NextDueAt: &at, Exchanges: 3, RunMS: 65000},
		"stopped:  a signal\njobs:     0 claimed, 0 done\nleft:     at least 20007 due, at least 10000 due in queues without a handler here, 9999 running elsewhere; 1 exchange in 1s\n": {
			Looked: true, Stopped: drain.StoppedSignal, DueLeft: 20007, Unhandled: 10000, Leased: 9999, Exchanges: 1, RunMS: 1000},
	} {
		if got := summaryText(r); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// What is written takes the progress line away first, and the progress line does not take away what was written.
func TestScreen(t *testing.T) {
	var b buffer
	s := newScreen(&b)
	if s.isTerminal {
		t.Error("a buffer is taken for a terminal")
	}
	line := progressLine{s}
	for _, w := range []struct {
		to   interface{ Write([]byte) (int, error) }
		text string
	}{{s, "one\n"}, {line, "\rspin"}, {line, "\rspin"}, {s, "two\n"}, {s, "three\n"}, {line, "\rspin"}, {line, clearLine}, {s, "four\n"}} {
		w.to.Write([]byte(w.text))
	}
	if got, want := b.String(), "one\n\rspin\rspin"+clearLine+"two\nthree\n\rspin"+clearLine+"four\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProgress(t *testing.T) {
	var none *progress
	none.observe(drain.Report{})
	none.end()
	if showProgress(newScreen(&buffer{})) != nil {
		t.Error("progress without a terminal")
	}
	var b buffer
	s := newScreen(&b)
	s.isTerminal = true
	p := showProgress(s)
	p.observe(drain.Report{Claimed: 3, Done: 2})
	if b.String() != "" {
		t.Errorf("a short run shows %q", b.String())
	}
	p.appear()
	p.observe(drain.Report{Claimed: 3, Done: 2, Failed: 1})
	p.end()
	got := b.String()
	if !strings.Contains(got, "3 claimed, 2 done") || !strings.Contains(got, "1 failed") || !strings.HasSuffix(got, clearLine) {
		t.Errorf("shows %q", got)
	}
	p.appear()
	if b.String() != got {
		t.Error("it comes back after its end")
	}
}
