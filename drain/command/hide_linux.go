package command

import "golang.org/x/sys/unix"

// hide has /proc/PID/environ, mem and the like belong to root. It cannot fail where the system knows it.
func hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
