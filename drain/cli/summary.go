package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// A lastRun is the run that is under way: the report so far, and where its summary goes. The summary is printed once,
// by the run's end or by the second signal.
type lastRun struct {
	mu       sync.Mutex
	started  time.Time
	begun    bool
	told     bool
	report   drain.Report
	conclude func(drain.Report)
}

func (l *lastRun) begin(started time.Time, conclude func(drain.Report)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started, l.begun, l.told, l.report, l.conclude = started, true, false, drain.Report{}, conclude
}

func (l *lastRun) observe(r drain.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = r
}

func (l *lastRun) end(r drain.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.told {
		l.told = true
		l.conclude(r)
	}
}

// concludeCutShort prints the summary of a run that a second signal ended: what it held then is abandoned.
func (p *program) concludeCutShort() {
	p.run.mu.Lock()
	begun, started, r := p.run.begun, p.run.started, p.run.report
	p.run.mu.Unlock()
	if !begun {
		return
	}
	r.Stopped, r.Error = drain.StoppedSignal, "a second signal ended the run at once: the jobs in hand wait for their leases"
	r.Looked = false
	r.Abandoned = r.Claimed - r.Done - r.Retried - r.Failed - r.Released - r.Lost
	r.RunMS = time.Since(started).Milliseconds()
	p.run.end(r)
}

// summarize prints the summary as the last line of standard output, in words where a person looks at it, and writes it
// to the file that EBB_SUMMARY_FILE names.
func (p *program) summarize(c Config, r drain.Report, warn func(string, ...any)) {
	line := summaryJSON(r)
	if isTerminal(p.stdout) {
		io.WriteString(p.stdout, summaryText(r))
	} else if _, err := p.stdout.Write(line); err != nil {
		warn("the summary could not be printed", "error", err)
	}
	if c.SummaryFile == "" {
		return
	}
	if err := summaryFile(c.SummaryFile).write(line); err != nil {
		warn("EBB_SUMMARY_FILE: the summary could not be written", "error", err)
	}
}

func summaryJSON(r drain.Report) []byte {
	if r.Suspended == nil {
		r.Suspended = []string{}
	}
	if r.Misconfigured == nil {
		r.Misconfigured = []string{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(r) // a buffer takes everything, and a report has nothing that JSON cannot say
	return b.Bytes()
}

// stoppedText is why a run stopped, in words.
var stoppedText = map[string]string{
	drain.StoppedEmpty:  "nothing due is left that this run may claim",
	drain.StoppedTime:   "the time is up",
	drain.StoppedJobs:   "the most jobs for a run are claimed",
	drain.StoppedSignal: "a signal",
	drain.StoppedError:  "an error",
}

func summaryText(r drain.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stopped:  %s", stoppedText[r.Stopped])
	if r.Error != "" {
		fmt.Fprintf(&b, ": %s", r.Error)
	}
	fmt.Fprintf(&b, "\njobs:     %s", progressText(r))
	if r.Reaped > 0 {
		fmt.Fprintf(&b, "; %d reaped", r.Reaped)
	}
	for _, q := range []struct {
		what  string
		names []string
	}{{"suspended", r.Suspended}, {"misconfigured", r.Misconfigured}} {
		if len(q.names) > 0 {
			fmt.Fprintf(&b, "; %s: %s", q.what, strings.Join(q.names, ", "))
		}
	}
	if r.Looked {
		fmt.Fprintf(&b, "\nleft:     %s due", counted(r.DueLeft))
	} else {
		b.WriteString("\nleft:     not known")
	}
	if r.Unhandled > 0 {
		fmt.Fprintf(&b, ", %s due in queues without a handler here", counted(r.Unhandled))
	}
	if r.Leased > 0 {
		fmt.Fprintf(&b, ", %s running elsewhere", counted(r.Leased))
	}
	if r.NextDueAt != nil {
		fmt.Fprintf(&b, ", the next one due at %s", r.NextDueAt.UTC().Format(time.RFC3339))
	}
	took := time.Duration(r.RunMS) * time.Millisecond
	fmt.Fprintf(&b, "; %s in %v\n", plural(r.Exchanges, "exchange"), took)
	return b.String()
}

// counted is a number of what is left.
func counted(n int) string {
	if n >= drain.MostCounted {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

// plural is a number of things, in words.
func plural[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
