package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

const (
	// goneWait is how long killed processes get to be gone; they take less than a millisecond unless something is odd.
	goneWait = 500 * time.Millisecond
	// gonePoll is how often the group is looked at: the system tells of the end of a command, not of its group.
	gonePoll = 5 * time.Millisecond
)

// A process is a started command, the leader of a process group.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}    // closed when the command, not its group, has ended
	state  *os.ProcessState // how it ended, once exited is closed; nil where err says why that is not known
	err    error
}

// start starts the command as the leader of a new group.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = leader()
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux kills the command when the thread that started it ends, be it that the process goes on. So this
		// goroutine keeps its thread until the command has ended. It costs none: waiting occupies one anyway.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		// Not cmd.Wait, which would close the pipes over what was not read yet.
		p.state, p.err = cmd.Process.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// await waits until the command ends by itself, or ends it when ctx does, and its group with it. It returns when nothing
// of the group is left and says whether the command was told to end, and whether it had to be killed. What is left of the
// group after the command's own end is killed when printed is closed, or after outputWait.
func (p *process) await(ctx context.Context, printed <-chan struct{}, killAfter time.Duration) (told, killed bool) {
	select {
	case <-p.exited:
		closed(printed, outputWait)
	case <-ctx.Done():
		told = true
		p.terminate()
		killed = !p.gone(killAfter) && !closed(p.exited, 0)
	}
	p.kill()
	<-p.exited
	p.gone(goneWait)
	return told, killed
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
	poll := time.NewTicker(gonePoll)
	defer poll.Stop()
	for p.groupAlive() {
		select {
		case <-poll.C:
		case <-end.C:
			return false
		}
	}
	return true
}

// end is how the command ended: its exit status, or -1, and in words.
func (p *process) end() (status int, words string) {
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
