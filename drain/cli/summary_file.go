package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A summaryFile is where EBB_SUMMARY_FILE has the summary written. What was there before stays until the new summary is
// there as a whole, whatever goes wrong in between: it is written beside and renamed. Where that is impossible, as it is on
// a file that is a mount of its own (a termination log), the bytes are replaced in place, and put back where not all fit.
//
// Only a plain file is written to. To open a pipe may take for ever, and a symbolic link may have been put there by
// somebody else, in /tmp say, to have another file overwritten.
type summaryFile string

// check says why no summary could be written there. It writes nothing.
func (f summaryFile) check() error {
	old, err := f.look()
	if err != nil {
		return err
	}
	beside, err := f.beside(old)
	if err == nil {
		return errors.Join(beside.Close(), os.Remove(beside.Name()))
	}
	if isFull(err) {
		return nil // it may have room again when the run has ended, and jobs need not wait for that
	}
	if old == nil || !isInTheWay(err) {
		return f.because(err)
	}
	in, err := f.open(old)
	if err != nil {
		return f.because(err)
	}
	return in.Close()
}

// write replaces what the file holds.
func (f summaryFile) write(summary []byte) error {
	old, err := f.look()
	if err != nil {
		return err
	}
	err = f.replace(old, summary)
	if old != nil && isInTheWay(err) {
		err = f.overwrite(old, summary)
	}
	return f.because(err)
}

// look finds the file that is there, or nil where there is none yet.
func (f summaryFile) look() (fs.FileInfo, error) {
	old, err := os.Lstat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, f.because(err)
	case !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s is %s; name a plain file, or one that is not there yet", string(f), kindOf(old.Mode()))
	}
	return old, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no plain file"
}

// beside makes the file that takes the place of the old one, with the rights of that; but nobody else may write to it.
func (f summaryFile) beside(old fs.FileInfo) (*os.File, error) {
	name := filepath.Join(filepath.Dir(string(f)), ".ebb-summary-"+rand.Text())
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil || old == nil {
		return file, err
	}
	if err := file.Chmod(old.Mode().Perm() &^ 0o022); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(name))
	}
	return file, nil
}

func (f summaryFile) replace(old fs.FileInfo, summary []byte) error {
	file, err := f.beside(old)
	if err != nil {
		return err
	}
	_, err = file.Write(summary)
	if err == nil {
		err = file.Sync() // some file systems say only now that they are full
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), string(f))
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}

// isInTheWay says whether it is only that the file cannot be replaced, so that what it holds may still be.
func isInTheWay(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES)
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// open opens the file that look found, and no other one that was put into its place.
func (f summaryFile) open(old fs.FileInfo) (*os.File, error) {
	if links(old) > 1 {
		return nil, errors.New("it has another name (a hard link), and what that names would be overwritten too")
	}
	file, err := os.OpenFile(string(f), os.O_RDWR|asItIs, 0)
	if errors.Is(err, fs.ErrPermission) {
		file, err = os.OpenFile(string(f), os.O_WRONLY|asItIs, 0)
	}
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(now, old) {
		return nil, errors.Join(errors.New("another file took its place meanwhile"), err, file.Close())
	}
	return file, nil
}

func (f summaryFile) overwrite(old fs.FileInfo, summary []byte) error {
	file, err := f.open(old)
	if err != nil {
		return err
	}
	defer file.Close()
	before, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(summary))))
	if err != nil {
		before = nil // it may be written and not be read
	}
	_, err = file.WriteAt(summary, 0)
	if err == nil {
		err = file.Truncate(int64(len(summary)))
	}
	if err == nil {
		return file.Sync()
	}
	_, undone := file.WriteAt(before, 0) // there is room for that, as there was before
	return errors.Join(err, undone, file.Truncate(old.Size()))
}

// because is an error with the name of the file that was set, in place of any other.
func (f summaryFile) because(err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("%s: %w", string(f), err)
}
