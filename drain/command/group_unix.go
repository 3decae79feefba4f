//go:build unix

package command

import "syscall"

func (p *process) terminate() { p.signal(syscall.SIGTERM) }

func (p *process) kill() { p.signal(syscall.SIGKILL) }

// signal reaches the whole group. As long as anything of it is left, its number is not given to other processes; so it
// is used only when that was just seen, or the command was not waited for yet.
func (p *process) signal(s syscall.Signal) {
	if !closed(p.exited, 0) || p.groupAlive() {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// groupAlive looks for what is left of the group when the command itself has ended and was waited for.
func (p *process) groupAlive() bool {
	group := -p.cmd.Process.Pid
	// Where ebb is the first process of a container, what a command leaves behind becomes ebb's child, to be waited for.
	for {
		if pid, err := syscall.Wait4(group, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			break
		}
	}
	// Any error means that nothing is left that could be killed: macOS says EPERM where all that is left are zombies.
	return syscall.Kill(group, 0) == nil
}
