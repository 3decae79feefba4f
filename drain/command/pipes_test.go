//go:build unix

package command

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// sluggish is a log that is late: it takes its time for the first line, and the command is long gone by then.
type sluggish struct {
	*printed
	late time.Duration
}

func (s *sluggish) Handle(ctx context.Context, r slog.Record) error {
	if len(s.all()) == 0 {
		time.Sleep(s.late)
	}
	return s.printed.Handle(ctx, r)
}

// Nothing that a command printed is lost because ebb was slow to read it, on a busy machine say: neither while a process
// that left the group still holds the pipes, nor where nobody does.
func TestOutputIsReadHoweverLate(t *testing.T) {
	for name, stray := range map[string]string{"nobody holds the pipes": "", "a stray does": "setsid sleep 600 & echo stray $!; "} {
		if stray != "" && runtime.GOOS != "linux" { // setsid(1) is Linux's
			continue
		}
		log := &sluggish{newPrinted(), 2 * lastWait}
		c := shell(stray + `echo first >&2; sleep 0.05; i=0; while [ $i -lt 900 ]; do echo "line $i of those that come later" >&2; i=$((i+1)); done; echo last >&2; exit 3`)
		c.Log = slog.New(log)
		err := c.Handle(t.Context(), drain.Job{})
		if text := text(err); !strings.HasPrefix(text, "exit status 3: ") || !strings.HasSuffix(text, "\nlast") {
			t.Errorf("%s: %s", name, text)
		}
		lines := strings.Join(log.all(), "\n")
		for n := range 900 {
			if !strings.Contains(lines, fmt.Sprintf("INFO line %d of", n)) {
				t.Fatalf("%s: line %d is not in the log", name, n)
			}
		}
		if stray != "" {
			pid, err := strconv.Atoi(log.await(t, "stray"))
			if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
				t.Errorf("no stray %d, %v", pid, err)
			}
		}
	}
}
