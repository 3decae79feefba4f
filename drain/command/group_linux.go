package command

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// leader gives the command a session, and so a group, of its own, and has the system kill it when ebb is gone. In ebb's
// session, a program that asks for a password at the terminal would be stopped there; without a terminal it fails.
func leader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: new(int)}
}

// awaitExit returns when the command has ended, or earlier where the system cannot tell without a thread that waits.
// A thread for each command may be more than the machine has left, and Go's runtime ends the program that gets none.
func awaitExit(cmd *exec.Cmd) {
	fd := *cmd.SysProcAttr.PidFD
	if fd < 0 {
		return
	}
	_ = syscall.SetNonblock(fd, true) // what makes os.NewFile wait by the runtime's poller
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return ready > 0 || err != nil && err != syscall.EINTR
	})
}

// onlyZombies tells whether all that is left of a group has ended and merely was not waited for. The first process of a
// container often does that late or never, and to kill(2) a zombie is a process like others.
func onlyZombies(group int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state parent group ...; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 {
			return false
		}
		if state := fields[0][0]; string(fields[2]) == strconv.Itoa(group) && state != 'Z' && state != 'X' {
			return false
		}
	}
	return true
}
