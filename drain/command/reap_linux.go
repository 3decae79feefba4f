package command

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Strays are what commands left behind and the system gave to this process, because it is the first one of a container:
// children of commands that had left their session, or outlived their parent. Whenever ended says so, reap waits for all
// that have died; without that they stay as zombies until the container's end, and count as processes. Both are for the
// goroutine of main, which calls this and reap, and starts no process in between; elsewhere ended never says anything, and
// so it is where this is not the first process. Call stop when nobody listens any more.
//
// The exit statuses of processes that the program starts itself are left to those who wait for them. Only a child whose
// thread has ended (with a goroutine that was locked to it) cannot be told from a stray.
func Strays() (ended <-chan os.Signal, reap, stop func()) {
	if os.Getpid() != 1 || syscall.Gettid() != 1 {
		return nil, func() {}, func() {}
	}
	return strays()
}

// Strays become children of the first thread, while all that the program starts are children of the thread that started
// them. So a goroutine that has the first thread to itself, and starts nothing, has strays as its only children, however
// soon the number of a process is used again. Only the goroutine of main can have it, and has to ask before main begins.
func init() {
	if os.Getpid() == 1 {
		runtime.LockOSThread()
	}
}

func strays() (ended <-chan os.Signal, reap, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	others := children() // started by main before
	return signals, func() { others = reapBut(others) }, func() { signal.Stop(signals) }
}

// reapBut waits for those children of this thread that have ended, but for the others, and returns which of these are left.
func reapBut(others []int) []int {
	which := []int{-1}
	if len(others) > 0 {
		all := children()
		others = slices.DeleteFunc(others, func(pid int) bool { return !slices.Contains(all, pid) })
		which = slices.DeleteFunc(all, func(pid int) bool { return slices.Contains(others, pid) })
	}
	for _, pid := range which {
		for {
			got, err := syscall.Wait4(pid, nil, syscall.WNOHANG|syscall.WNOTHREAD, nil)
			if err != syscall.EINTR && (err != nil || got <= 0) {
				break
			}
		}
	}
	return others
}

// children are those of the thread that asks; none where the system does not say.
func children() (all []int) {
	list, _ := os.ReadFile("/proc/thread-self/children")
	for word := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(word); err == nil {
			all = append(all, pid)
		}
	}
	return all
}
