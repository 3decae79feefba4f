package drain_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// endSessions ends ebb's sessions in this database.
const endSessions = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ebb' and datname = current_database()`

// A logbook is a log that a test reads and waits for lines of.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// waitFor waits until a text came n times.
func (l *logbook) waitFor(t *testing.T, text string, n int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); strings.Count(l.String(), text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %q, %d times:\n%s", text, n, l)
		}
	}
}

// logged gives a config whose log can be read.
func logged(config drain.Config) (drain.Config, *logbook) {
	l := &logbook{}
	config.Log = slog.New(slog.NewTextHandler(l, nil))
	return config, l
}

// once checks that each job was started once.
func (r *rig) once(n int) {
	r.Helper()
	seen := map[int64]int{}
	for _, id := range r.ids() {
		seen[id]++
	}
	for id, times := range seen {
		if times != 1 {
			r.Errorf("job %d was started %d times", id, times)
		}
	}
	if len(seen) != n {
		r.Errorf("%d jobs were started, not %d", len(seen), n)
	}
}
