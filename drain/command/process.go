package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	// goneWait is how long killed processes get to be gone; they take about a millisecond unless something is odd.
	goneWait = 500 * time.Millisecond
	// A group is looked at after these pauses.
	firstPause, lastPause = time.Millisecond, 64 * time.Millisecond
)

// A process is a started command, the leader of a process group.
type process struct {
	cmd    *exec.Cmd
	pipes  *pipes
	exited chan struct{}    // closed when the command, not its group, has ended
	state  *os.ProcessState // how it ended, once exited is closed; nil where err says why that is not known
	err    error
}

// start starts the command as the leader of a new group.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = leader()
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	starter() <- func() {
		var err error
		if p.pipes, err = connect(cmd); err == nil {
			err = cmd.Start() // it closes the pipes where it fails
		}
		started <- err
	}
	if err := <-started; err != nil {
		return nil, err
	}
	go func() {
		awaitExit(cmd)
		// Not cmd.Wait, which would close the pipes over what was not read yet.
		p.state, p.err = cmd.Process.Wait()
		close(p.exited)
	}()
	return p, nil
}

// starter is the one thread that starts all commands, and never ends: Linux kills a command when the thread that started
// it ends, even if the process goes on. A thread for each would be one process more, to the limits that machines have. One
// after the other they also need fewer files: a command holds twice as many while it is started.
var starter = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// An ending is how a run of a command came to its end.
type ending struct {
	told   bool // SIGTERM was sent
	killed bool // and SIGKILL, because SIGTERM did not end the command
	strays bool // the command ended by itself and left processes of its group running, which were killed
}

// await waits until the command ends by itself, or ends it when ctx does, and its group with it. It returns when nothing
// of the group is left. Strays have until printed is closed, or outputWait, to end by themselves.
func (p *process) await(ctx context.Context, printed <-chan struct{}, killAfter time.Duration) (e ending) {
	select {
	case <-p.exited:
		if !p.groupAlive() {
			return e
		}
		closed(printed, outputWait)
		if p.gone(lastPause) {
			return e
		}
		e.strays = true
	case <-ctx.Done():
		if closed(p.exited, 0) && !p.groupAlive() {
			return e // both came at once, and its own end was first
		}
		e.told = true
		p.terminate()
		if p.gone(killAfter) {
			return e
		}
		e.killed = !closed(p.exited, 0)
	}
	p.kill()
	<-p.exited
	p.gone(goneWait)
	return e
}

// gone waits until the command has ended and nothing of its group is left, for no longer than d.
func (p *process) gone(d time.Duration) bool {
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-p.exited:
	case <-end.C:
		return false
	}
	// The system tells when the command has ended, but not when its group has.
	for pause := firstPause; p.groupAlive(); pause = min(2*pause, lastPause) {
		select {
		case <-time.After(pause):
		case <-end.C:
			return false
		}
	}
	return true
}

// status is the exit status, or -1, and how the command ended in words.
func (p *process) status() (code int, words string) {
	if p.state == nil { // say, a program that waits for all children, as the first of a container may
		return -1, fmt.Sprintf("the exit status is not known: %v", p.err)
	}
	return p.state.ExitCode(), p.state.String()
}

// closed waits until c is closed, for no longer than d, and reports whether it is.
func closed(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	default:
	}
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-c:
		return true
	case <-end.C:
		return false
	}
}
