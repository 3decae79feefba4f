//go:build !unix

package local

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

type account struct{}

// serverAccount is the first thing that Start asks, and ends it here: there is no sh to supervise a server with, and
// nobody has tried yet.
func serverAccount() (*account, error) {
	return nil, fmt.Errorf("a postgres of its own is not supported on %s", runtime.GOOS)
}

func (*account) confine(*exec.Cmd) {}

func (*account) own(*os.File) error { return nil }
