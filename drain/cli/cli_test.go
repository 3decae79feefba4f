package cli

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

var update = flag.Bool("update", false, "write the golden files")

// An invocation is one call of Main, and what came of it.
type invocation struct {
	status         int
	stdout, stderr string
}

// A setup is what Main is called with, apart from the arguments.
type setup struct {
	env      map[string]string
	stdin    string
	handlers []drain.Queue
}

// ebb calls Main. The environment is the setup's, with a PATH for what commands start.
func (s setup) ebb(args ...string) invocation {
	env := []string{"PATH=" + os.Getenv("PATH")}
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		env = append(env, name+"="+s.env[name])
	}
	var stdout, stderr buffer
	status := Main(args, env, strings.NewReader(s.stdin), &stdout, &stderr, s.handlers...)
	return invocation{status, stdout.String(), stderr.String()}
}

// A buffer may be written by what a signal left behind.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// golden compares text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", file, got)
	}
}

// lineOf is the line that names a setting.
func lineOf(text, name string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ebb: "+name+":") || strings.HasPrefix(line, "ebb: "+name+" ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
