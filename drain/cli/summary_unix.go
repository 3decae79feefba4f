//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// asItIs opens a file that is no symbolic link, and never waits for somebody at a pipe's other end.
const asItIs = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tooLarge is the signal that a write beyond the limit of a file's size gives (ulimit -f). Who listens to it gets an error
// from the write instead of being killed.
var tooLarge os.Signal = syscall.SIGXFSZ

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
