package cli

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// The demo takes nothing from the environment, and leaves nothing behind.
func TestDemo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no demo on Windows")
	}
	dir := tempDir(t)
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_NONSENSE": "1"}}.ebb("demo")
	r := got.summary(t)
	if got.status != 0 || r.Stopped != drain.StoppedEmpty || r.Claimed != 27 || r.Done != 24 || r.Retried != 2 || r.Failed != 1 || r.DueLeft != 0 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if r.Exchanges > 20 { // a wait for the retries that asks again and again
		t.Errorf("%d exchanges", r.Exchanges)
	}
	isEmpty(t, dir)
}

func TestDemoInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no demo on Windows")
	}
	dir := tempDir(t)
	s := begin([]string{"PATH=" + os.Getenv("PATH")}, nil, nil, "demo")
	for !strings.Contains(s.stdout.String(), "job 7") {
		time.Sleep(time.Millisecond)
	}
	s.signals <- os.Interrupt
	if got := s.end(t, 30*time.Second); got.status != 130 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	isEmpty(t, dir)

	s = begin(nil, nil, nil, "demo")
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 30*time.Second); got.status != 143 {
		t.Errorf("at once: exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

// tempDir is where the demo's server goes, which may run as another user.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ebb-demo-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
