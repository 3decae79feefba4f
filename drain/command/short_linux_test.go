package command

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// At whatever step of a start the files run out, the command never started, and nothing stays open for it.
func TestNoFilesLeft(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	defer restore()
	if err := shell("true").Handle(t.Context(), drain.Job{}); err != nil { // what is opened once is open now
		t.Fatal(err)
	}
	before := descriptors(t)
	short := 0
	for free := 0; ; free++ {
		few := limit
		few.Cur = uint64(free)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		err := shell("true").Handle(t.Context(), drain.Job{})
		restore()
		if after := descriptors(t); after > before {
			t.Errorf("with %d descriptors %d are open afterwards, before %d", free, after, before)
		}
		if err == nil {
			break
		}
		if meant(err) != notStarted || !strings.Contains(text(err), "raise ulimit -n") {
			t.Fatalf("with %d descriptors: %v", free, err)
		}
		short++
	}
	if short < before {
		t.Errorf("only %d starts were short of files", short)
	}
}

// To a limit on processes threads are processes.
func TestCommandsCostNoThreads(t *testing.T) {
	threads := func() int {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	Prepare()
	before := threads()
	ctx, cancel := cancelled(t)
	answers := make([]<-chan error, 40)
	for i := range answers {
		_, answers[i] = handle(t, ctx, shell(`echo ready $$; exec sleep 600`))
	}
	if during := threads(); during > before+len(answers)/4 {
		t.Errorf("%d threads before, %d while %d commands run", before, during, len(answers))
	}
	start := time.Now()
	cancel(drain.ErrStopped)
	for _, answer := range answers {
		if err := answered(t, answer); text(err) != "signal: terminated" {
			t.Error(err)
		}
	}
	if took := time.Since(start); took > defaultKillAfter {
		t.Errorf("their ends are seen after %v", took)
	}
}
