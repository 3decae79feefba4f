package cli

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// A screen is standard error, which log lines and the progress line share: what is written to it first takes the
// progress line away.
type screen struct {
	out        io.Writer
	isTerminal bool

	mu    sync.Mutex
	dirty bool // the progress line is there
}

func newScreen(out io.Writer) *screen { return &screen{out: out, isTerminal: isTerminal(out)} }

// isTerminal says whether a stream is one that a person looks at or types into.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// clearLine takes away what is on the line, and goes back to its beginning.
const clearLine = "\x1b[2K\r"

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirty {
		s.dirty = false
		io.WriteString(s.out, clearLine)
	}
	return s.out.Write(b)
}

// A progressLine is the screen as the progress bar writes to it.
type progressLine struct{ *screen }

func (l progressLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirty = string(b) != clearLine
	return l.out.Write(b)
}
