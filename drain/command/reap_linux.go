package command

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// strayAge is how long a stray must have been seen to be one. Whoever started a process and waits for it has done so by
// then, even if it is not known here: a handler in Go may start processes of its own.
const strayAge = time.Second

// ReapStrays takes in, until stop is called, what commands left behind and the system gave to this process, because it is
// the first one of a container: children of commands that had left their session, or outlived their parent. Without that
// they stay as zombies until the container's end. It does nothing where this is not the first process.
//
// All commands of the program must share r: their exit statuses are theirs to wait for. So are those of other processes
// that the program starts, as long as it waits for them within a second of their end or starts them in its own session.
func (r *Running) ReapStrays() (stop func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	return r.reapStrays()
}

func (r *Running) reapStrays() (stop func()) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	over := make(chan struct{})
	go func() {
		seen := map[int]sighting{}
		for {
			select {
			case <-ended:
			case <-over:
				return
			}
			for more := true; more; {
				more = r.reap(seen, zombies(os.Getpid()), time.Now())
				select {
				case <-time.After(strayAge):
				case <-over:
					return
				}
			}
		}
	}()
	return func() {
		signal.Stop(ended)
		close(over)
	}
}

// A sighting is when a zombie was first seen. Its number cannot become another process's before somebody has waited for
// it; born tells two of one number apart.
type sighting struct {
	born   string
	at     time.Time
	starts int64 // of commands so far: none later made it
}

// reap waits for the strays among this process's zombies, which were found just now, and updates what was seen. It reports
// whether there is any left to look at again.
//
// To find zombies takes long where there are many processes, and a start or Kill that waits for the mutex must not wait for
// that; so what was found may be old here. No exit status is taken from whoever waits for it nevertheless:
//
//   - A command is among the processes until its exit status is there, and under way before. So a zombie that is a
//     command's, and still there, is one of a process known here, or of a start under way that began before it was first
//     seen.
//   - A zombie that is no longer there, for somebody waited for it meanwhile, may have left its number to a process that
//     was started since, by a command's start or by a handler in Go. So it is looked at once more: one that was born at
//     the same time is the same. And none is made by this process between that look and the wait, for while it holds
//     ForkLock it does not fork.
//
// ForkLock comes first, for a fork may take long, and nobody who forks holds the mutex.
func (r *Running) reap(seen map[int]sighting, found map[int]string, now time.Time) (more bool) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range seen {
		if born, there := found[pid]; !there || born != seen[pid].born {
			delete(seen, pid)
		}
	}
	for p := range r.processes {
		delete(found, p.cmd.Process.Pid)
	}
	for pid, born := range found {
		first, known := seen[pid]
		if !known {
			first = sighting{born, now, r.starts}
			seen[pid] = first
		}
		if now.Sub(first.at) < strayAge || r.underwaySince(first.starts) {
			more = true
			continue
		}
		if _, fields := stat(strconv.Itoa(pid)); fields != nil && fields[0] == "Z" && fields[19] == born {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // an error means that somebody else did
		}
		delete(seen, pid)
	}
	return more
}

// underwaySince reports whether a start up to this number is still under way.
func (r *Running) underwaySince(number int64) bool {
	for n := range r.underway {
		if n <= number {
			return true
		}
	}
	return false
}

// zombies are the children of a process that have ended and were not waited for, but for those in its own session, by
// number; the value says when each was born.
func zombies(parent int) map[int]string {
	all := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return all
	}
	session := ""
	if _, fields := stat(strconv.Itoa(parent)); fields != nil {
		session = fields[3]
	}
	for _, entry := range entries {
		pid, fields := stat(entry.Name())
		if fields != nil && fields[0] == "Z" && fields[1] == strconv.Itoa(parent) && fields[3] != session {
			all[pid] = fields[19]
		}
	}
	return all
}

// stat is what /proc says of a process behind its name: state, parent, group, session and so on, the time of its birth
// being the 20th. Nothing where there is no such process.
func stat(name string) (pid int, fields []string) {
	pid, err := strconv.Atoi(name)
	if err != nil {
		return 0, nil
	}
	text, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return 0, nil
	}
	for _, field := range bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) {
		fields = append(fields, string(field))
	}
	if len(fields) < 20 {
		return 0, nil
	}
	return pid, fields
}
