//go:build !unix

package command

import (
	"os/exec"
	"syscall"
)

func leader() *syscall.SysProcAttr { return nil }

// terminate kills: there is no signal that asks a command to end.
func (p *process) terminate() { p.kill() }

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// groupAlive is false: there are no groups, what the command started is not known.
func (p *process) groupAlive() bool { return false }

// awaitExit leaves it to the wait that follows.
func awaitExit(*exec.Cmd) {}
