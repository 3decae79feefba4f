//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// An account is the user that the server runs as. Nil stands for the user of this process.
type account struct {
	uid, gid uint32
}

// serverAccount chooses the account: Postgres refuses to run as root.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		// Signed, and then cut: nobody is -2 on macOS.
		uid, uidErr := strconv.ParseInt(found.Uid, 10, 64)
		gid, gidErr := strconv.ParseInt(found.Gid, 10, 64)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgres does not run as root, and there is no user postgres or nobody to run it as: " +
		"run as another user")
}

// confine makes cmd run as the account, in a session of its own: Ctrl-C at the terminal is not for it.
func (a *account) confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
}

// own gives an open file or folder of this process to the account.
func (a *account) own(f *os.File) error {
	if a == nil {
		return nil
	}
	return f.Chown(int(a.uid), int(a.gid))
}
