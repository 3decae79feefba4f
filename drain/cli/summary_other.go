//go:build !unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

const asItIs = 0

var tooLarge os.Signal = syscall.SIGPIPE // there is no such limit

func links(fs.FileInfo) uint64 { return 1 }
