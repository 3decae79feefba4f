package local

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// keep makes a directory and says so, waits until nobody holds its standard input open any more, and removes it. It
// is made here so that it is never there without its keeper, who goes on when there is nobody left to say it to.
const keep = `trap '' PIPE; umask 077; mkdir "$1" || exit; echo made; cat >/dev/null; rm -rf "$1"`

// A directory is where a server keeps its data. It is there as long as somebody holds it: this process, and all that
// it started with hold among their files.
type directory struct {
	path   string
	hold   *os.File
	keeper *exec.Cmd
}

// newDirectory makes an empty directory that only the account can read.
func newDirectory(as *account) (*directory, error) {
	base := os.TempDir()
	if as != nil && !reachable(base) {
		base = "/tmp"
	}
	path := filepath.Join(base, "ebb-postgres-"+strings.ToLower(rand.Text()[:16]))
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	keeper := exec.Command("sh", "-c", keep, "ebb-directory", path)
	keeper.Stdin, keeper.Dir = read, "/"
	// The keeper stays this user: the account may not be allowed to remove an entry of the folder for temporary files.
	(*account)(nil).confine(keeper)
	said, err := keeper.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	keeper.Stderr = keeper.Stdout
	if err := keeper.Start(); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	d := &directory{path: path, hold: write, keeper: keeper}
	if line, _ := bufio.NewReader(said).ReadString('\n'); line != "made\n" {
		d.release()
		return nil, errors.New(strings.TrimSpace(line))
	}

	opened, err := os.Open(path)
	if err == nil {
		err = errors.Join(as.own(opened), opened.Close())
	}
	if err != nil {
		return nil, errors.Join(err, d.release())
	}
	return d, nil
}

// create makes a new file in the directory, for the account alone.
func (d *directory) create(name string, as *account) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := as.own(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// release lets the directory go and waits until it is removed, so no process that holds it may be left.
func (d *directory) release() error {
	d.hold.Close()
	if err := d.keeper.Wait(); err != nil {
		return fmt.Errorf("remove %s: %w", d.path, err)
	}
	return nil
}

// reachable says whether any user can get to what is in dir. Folders for temporary files can be private, root's own
// among them.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
