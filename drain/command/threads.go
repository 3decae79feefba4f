package command

import (
	"runtime"
	"sync"
)

// ReserveThreads makes the threads that a process needs which starts commands, as far as that can be told. Go's runtime
// keeps what threads it has, and ends the program when it needs one more and gets none: where a machine is that short of
// processes, that is to happen before any job is claimed.
func ReserveThreads() {
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
