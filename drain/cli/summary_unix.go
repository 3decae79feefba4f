//go:build unix

package cli

import (
	"io/fs"
	"syscall"
)

// asItIs opens a file that is no symbolic link, and never waits for somebody at a pipe's other end.
const asItIs = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
