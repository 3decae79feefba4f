//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

// leader gives the command a session, and so a group, of its own. In ebb's session, a program that asks for a password
// at the terminal would be stopped there; without a terminal it fails.
func leader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// onlyZombies is not known here; kill(2) tells by itself on macOS.
func onlyZombies(int) bool { return false }

// awaitExit leaves it to the wait that follows.
func awaitExit(*exec.Cmd) {}
