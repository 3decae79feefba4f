package command

import (
	"os/exec"
	"sync"
)

// Running is the commands that run right now, so that a program which has to exit at once can take them along. Its zero
// value is ready; all commands of a program share one.
type Running struct {
	mu        sync.Mutex
	processes map[*process]struct{}
	killed    bool
}

// Kill kills every running command with its group, and every command that is started later. It waits for none of them,
// returns at once, and may be called again. Their handlers do not return any more, so that nothing is settled by an end
// that was none of their own: the program has to exit.
func (r *Running) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	for p := range r.processes {
		p.kill()
	}
}

// start starts a command and has it among those that run, until remove. It is killed at once where all are.
func (r *Running) start(cmd *exec.Cmd) (*process, error) {
	p, err := start(cmd)
	if r == nil || err != nil {
		return p, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.processes == nil {
		r.processes = map[*process]struct{}{}
	}
	r.processes[p] = struct{}{}
	if r.killed {
		p.kill()
	}
	return p, nil
}

// remove reports whether everything was killed meanwhile.
func (r *Running) remove(p *process) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.processes, p)
	return r.killed
}
