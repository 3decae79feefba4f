package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/seed829e008e/ebb/drain/command"
)

// An interruption is the cause of a context that a signal ended.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string { return "stopped by a signal: " + i.signal.String() }

// status is what a shell reports of a process that the signal ended.
func (i interruption) status() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return failed
}

// main executes the command and listens to signals meanwhile. The first ends the command's context, the second
// everything: what comes after the process's end (leases, the demo's server) is made to bear that. All signals come
// through one buffered channel that is read until the end, so that none is lost however fast they come.
func (p *program) main(args []string, signals <-chan os.Signal) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	strays, reap, stop := command.Strays()
	defer stop()
	done := make(chan int, 1)
	go func() { done <- p.execute(ctx, args) }()
	first := true
	for {
		select {
		case status := <-done:
			return status
		case <-strays:
			reap()
		case s := <-signals:
			why := interruption{s}
			if first {
				first = false
				cancel(why)
				continue
			}
			p.running.Kill()
			p.sayCutShort(s)
			return why.status()
		}
	}
}

// sayCutShort prints what there is to say after a second signal. It waits for no one who does not read it.
func (p *program) sayCutShort(s os.Signal) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		p.concludeCutShort()
		fmt.Fprintf(p.stderr, "ebb: second signal (%v): ended at once\n", s)
	}()
	select {
	case <-said:
	case <-time.After(500 * time.Millisecond):
	}
}

// execute runs the command tree and says how it ended.
func (p *program) execute(ctx context.Context, args []string) int {
	p.args = args
	err := p.tree(args).ExecuteContext(ctx)
	if why := (interruption{}); err != nil && errors.As(context.Cause(ctx), &why) && !isRun(err) {
		fmt.Fprintf(p.stderr, "ebb: %v\n", why)
		return why.status()
	}
	p.explain(err)
	return exitStatus(err)
}
