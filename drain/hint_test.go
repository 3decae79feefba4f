package drain

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Files come free when handlers end, so a connect that found none is tried again; who has to act is told which limit it is.
func TestConnectWithoutFiles(t *testing.T) {
	for errno, limit := range map[syscall.Errno]string{syscall.EMFILE: "ulimit -n", syscall.ENFILE: "fs.file-max"} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}
		if !passes(err) || !strings.Contains(hint(err), limit) {
			t.Errorf("%v: passes %v, %q", err, passes(err), hint(err))
		}
	}
}
