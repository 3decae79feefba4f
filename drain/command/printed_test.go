package command

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// printed is a log that a test can read, and wait for.
type printed struct {
	mu    sync.Mutex
	lines []string
	news  chan struct{}
}

func newPrinted() *printed { return &printed{news: make(chan struct{}, 1)} }

func (p *printed) logger() *slog.Logger { return slog.New(p) }

func (p *printed) Enabled(context.Context, slog.Level) bool { return true }
func (p *printed) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p *printed) WithGroup(string) slog.Handler            { return p }

func (p *printed) Handle(_ context.Context, r slog.Record) error {
	line := fmt.Sprintf("%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	p.mu.Lock()
	p.lines = append(p.lines, line)
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
	return nil
}

func (p *printed) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// await waits for a line that begins with the word and returns what comes after it, up to a blank.
func (p *printed) await(t *testing.T, word string) string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		for _, line := range p.all() {
			if fields := strings.Fields(line); len(fields) > 2 && fields[1] == word {
				return fields[2]
			}
		}
		select {
		case <-p.news:
		case <-late:
			t.Fatalf("no line %q in %q", word, p.all())
		}
	}
}
