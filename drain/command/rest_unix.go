//go:build unix

package command

import (
	"io"
	"os"
	"syscall"
	"time"
)

// mostRest is more than a pipe holds. Who fills it again and again is not followed any further.
const mostRest = 1 << 20

// rest reads what is in a pipe, and waits for nothing more.
func rest(from io.Reader, to io.Writer) {
	f, ok := from.(*os.File)
	if !ok || f.SetReadDeadline(time.Time{}) != nil {
		return
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, 32<<10)
	_ = raw.Read(func(fd uintptr) bool {
		for size := 0; size < mostRest; {
			n, err := syscall.Read(int(fd), buffer)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 || err != nil { // its end, or nothing there for now
				break
			}
			size += n
			_, _ = to.Write(buffer[:n])
		}
		return true
	})
}
