package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// An echo is the log of a command for people who look at it: what the command prints, line by line.
type echo struct {
	out  io.Writer
	line func(echoed) string // what to print; nothing where it is empty

	mu sync.Mutex
}

// An echoed is a line that a command printed.
type echoed struct {
	stream string
	id     int64 // of the job
	text   string
}

func (*echo) Enabled(context.Context, slog.Level) bool { return true }
func (e *echo) WithAttrs([]slog.Attr) slog.Handler     { return e }
func (e *echo) WithGroup(string) slog.Handler          { return e }

func (e *echo) Handle(_ context.Context, r slog.Record) error {
	line := echoed{text: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "stream":
			line.stream = a.Value.String()
		case "id":
			line.id = a.Value.Int64()
		}
		return true
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if text := e.line(line); text != "" {
		if _, err := fmt.Fprintln(e.out, text); err != nil {
			return err
		}
	}
	return nil
}
