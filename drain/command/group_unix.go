//go:build unix

package command

import "syscall"

// terminate and kill reach all of the group. Its number is not given to other processes as long as the command was not
// waited for or anything of the group is left, so they are not to be called long after both were seen to be over.
func (p *process) terminate() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }
func (p *process) kill()      { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// groupAlive looks for what is left of the group when the command itself has ended and was waited for.
func (p *process) groupAlive() bool {
	group := p.cmd.Process.Pid
	// Any error means that nothing is left that could be killed: macOS says EPERM where all that is left are zombies.
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	if !onlyZombies(group) {
		return true
	}
	// Where ebb is the first process of a container they are its children now, and nobody else's to wait for.
	for {
		if pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return false
		}
	}
}
