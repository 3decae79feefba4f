package command

import (
	"runtime"
	"sync"
)

// Prepare makes a process ready to start commands, before any job is claimed. On Linux commands that run as the same user
// cannot read the process's memory and environment any more, where the database's password is: that also ends its core
// dumps, and keeps debuggers of that user out.
func Prepare() {
	reserveThreads()
	hide()
}

// reserveThreads makes the threads that such a process needs, as far as that can be told. Go's runtime keeps what threads
// it has, and ends the program when it needs one more and gets none: where a machine is that short of processes, that is to
// happen now.
func reserveThreads() {
	var held, released sync.WaitGroup
	end := make(chan struct{})
	for range min(runtime.GOMAXPROCS(0), 8) + 4 {
		held.Add(1)
		released.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			<-end
		})
	}
	held.Wait()
	close(end)
	released.Wait()
}
