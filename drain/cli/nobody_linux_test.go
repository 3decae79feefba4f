package cli

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// asNobody has this goroutine meet files as a user without rights, until what it gives is called.
func asNobody(t *testing.T) (back func()) {
	t.Helper()
	if os.Getuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Fatal(err) // and the thread stays locked, so that it ends with the goroutine
		}
		runtime.UnlockOSThread()
	}
}
