package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/seed829e008e/ebb/drain"
)

// A progress is the line on a terminal that says how far a run got. It appears after a second, so that a short run is
// not made longer to read.
type progress struct {
	mu    sync.Mutex
	line  progressLine
	text  string
	bar   *progressbar.ProgressBar
	timer *time.Timer
	over  bool
}

// showProgress gives nil, which takes and does nothing, where nobody would look at it.
func showProgress(s *screen) *progress {
	if !s.isTerminal {
		return nil
	}
	p := &progress{line: progressLine{s}, text: "connecting"}
	p.timer = time.AfterFunc(time.Second, p.appear)
	return p
}

func (p *progress) appear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.bar = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(p.line), progressbar.OptionUseANSICodes(true), progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetDescription(p.text))
	p.bar.RenderBlank()
}

// observe takes in the report so far.
func (p *progress) observe(r drain.Report) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = progressText(r)
	if p.bar != nil {
		p.bar.Describe(p.text)
	}
}

func progressText(r drain.Report) string {
	text := fmt.Sprintf("%d claimed, %d done", r.Claimed, r.Done)
	for _, n := range []struct {
		count int
		what  string
	}{{r.Retried, "retried"}, {r.Failed, "failed"}, {r.Released, "released"}, {r.Abandoned, "abandoned"}, {r.Lost, "lost"}} {
		if n.count > 0 {
			text += fmt.Sprintf(", %d %s", n.count, n.what)
		}
	}
	return text
}

// end takes the line away.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.timer.Stop()
	if p.bar != nil {
		p.bar.Finish()
	}
}
