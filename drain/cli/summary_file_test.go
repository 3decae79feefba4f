//go:build unix

package cli

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// Whatever a summary file is, a run neither waits at it nor writes through it: it is refused before anything is
// connected to, or replaced.
func TestSummaryFileOfEveryKind(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const old = "what was there before, and longer than a summary: " +
		"................................................................................................................" +
		"................................................................................................................" +
		"................................................................................................................"
	write := func(name string) string {
		if err := os.WriteFile(in(name), []byte(old), 0o640); err != nil {
			t.Fatal(err)
		}
		return in(name)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	victim := write("victim")
	must(syscall.Mkfifo(in("pipe"), 0o600))
	must(os.Mkdir(in("folder"), 0o700))
	must(os.Symlink("victim", in("link")))
	must(os.Symlink("nothing", in("dangling")))
	must(os.Symlink("pipe", in("link to a pipe")))
	must(os.Symlink("link", in("link to a link")))
	must(os.Symlink("/proc/self/fd/1", in("stdout"))) // what /dev/stdout is
	socket, err := net.Listen("unix", in("socket"))
	must(err)
	defer socket.Close()

	for _, test := range []struct{ name, says string }{
		{in("pipe"), "is a named pipe"}, {in("socket"), "is a socket"}, {in("folder"), "is a directory"},
		{in("link"), "is a symbolic link"}, {in("dangling"), "is a symbolic link"}, {in("link to a pipe"), "is a symbolic link"},
		{in("link to a link"), "is a symbolic link"}, {in("stdout"), "is a symbolic link"}, {device(t, dir), "is a device"},
		{in("no") + "/summary", "no such file or directory"},
		{victim + "/summary", "not a directory"}, {in(strings.Repeat("n", 300)), "file name too long"},
	} {
		s := begin([]string{"DATABASE_URL=" + nowhere}, nil, nil, "run", "--connect-timeout", "50ms", "--summary-file", test.name, "--", "sh")
		got := s.end(t, 10*time.Second)
		if got.status != 78 || got.stdout != "" || !strings.Contains(got.stderr, "ebb: EBB_SUMMARY_FILE cannot be written: ") || !strings.Contains(got.stderr, test.says) {
			t.Errorf("%s: exit %d, %s%s", test.name, got.status, got.stdout, got.stderr)
		}
		// What is put there while the run works is met at its end.
		if err := summaryFile(test.name).write([]byte("new")); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: written, %v", test.name, err)
		}
	}
	if text, _ := os.ReadFile(victim); string(text) != old {
		t.Errorf("the file behind a link has %q", text)
	}
	if _, err := os.Lstat(in("nothing")); err == nil {
		t.Error("a dangling link made a file")
	}

	// A second name of a file is none of the summary's: the file stays, under the other one.
	must(os.Link(victim, in("hard link")))
	for _, name := range []string{in("hard link"), in("new"), write("old")} {
		got := setup{env: map[string]string{"DATABASE_URL": nowhere}}.ebb("run", "--connect-timeout", "50ms", "--summary-file", name, "--", "sh")
		if text, err := os.ReadFile(name); got.status != 1 || string(text) != got.stdout || err != nil {
			t.Errorf("%s: exit %d, %s, %v", name, got.status, text, err)
		}
	}
	if text, _ := os.ReadFile(victim); string(text) != old {
		t.Errorf("the file of a hard link has %q", text)
	}
	for was, is := range map[os.FileMode]os.FileMode{0o640: 0o640, 0o600: 0o600, 0o666: 0o644} {
		if err := errors.Join(os.Chmod(in("old"), was), summaryFile(in("old")).write([]byte("new"))); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(in("old")); err != nil || info.Mode() != is {
			t.Errorf("its rights were %v and are %v, %v", was, info.Mode(), err)
		}
	}
	left, err := filepath.Glob(in(".*"))
	if len(left) > 0 || err != nil {
		t.Errorf("left beside it: %v", left)
	}
}

// device is one that a test may lose: where root runs it, one of the machine's would be replaced if that is what fails.
func device(t *testing.T, dir string) string {
	t.Helper()
	const null = "/dev/null"
	if os.Getuid() != 0 {
		return null
	}
	info, err := os.Stat(null)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "device")
	if err := syscall.Mknod(name, syscall.S_IFCHR|0o666, int(info.Sys().(*syscall.Stat_t).Rdev)); err != nil {
		schematest.Missing(t, "root", "a device cannot be made here: "+err.Error())
	}
	return name
}

// A run that cannot write its summary says so, ends as it would have, and leaves what was there.
func TestSummaryThatDoesNotFit(t *testing.T) {
	url := schematest.New(t)
	file := filepath.Join(t.TempDir(), "summary")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", `ulimit -f 0; exec "$0" "$@"`, os.Args[0], "run", "--summary-file", file, "--", "sh")
	var stdout, stderr buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Env = []string{"BE_EBB=yes", "DATABASE_URL=" + url, "PATH=" + os.Getenv("PATH")}
	if err := c.Run(); err != nil || !strings.Contains(stderr.String(), "EBB_SUMMARY_FILE: the summary could not be written") ||
		!strings.Contains(stderr.String(), "file too large") || !strings.Contains(stdout.String(), `"stopped":"empty"`) {
		t.Errorf("%v, %s%s", err, stdout.String(), stderr.String())
	}
	isOnly(t, file, "old")

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil && runtime.GOOS != "linux" {
		return
	}
	broken, pipe, _ := os.Pipe()
	broken.Close()
	for what, out := range map[string]*os.File{"no space left on device": full, "broken pipe": pipe} {
		os.Remove(file)
		c := exec.Command(os.Args[0], "run", "--summary-file", file, "--", "sh")
		var stderr buffer
		c.Stdout, c.Stderr, c.Env = out, &stderr, []string{"BE_EBB=yes", "DATABASE_URL=" + url, "PATH=" + os.Getenv("PATH")}
		err := c.Run()
		if text, _ := os.ReadFile(file); err != nil || !strings.Contains(stderr.String(), what) || !strings.Contains(string(text), `"stopped":"empty"`) {
			t.Errorf("%s: %v, %s, %s", what, err, stderr.String(), text)
		}
		out.Close()
	}
}

func isOnly(t *testing.T, file, want string) {
	t.Helper()
	all, _ := os.ReadDir(filepath.Dir(file))
	if text, err := os.ReadFile(file); string(text) != want || err != nil || len(all) != 1 {
		t.Errorf("%s has %q, %v, beside it: %v", file, text, err, all)
	}
}

// A file that is a mount, as a termination log is, cannot be replaced. A file system that is full takes nothing new.
// The test is run again in a name space of its own, where it may mount things.
func TestSummaryFileOnAMount(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mounts are Linux's")
	}
	dir := os.Getenv("TEST_MOUNTED")
	if dir == "" {
		if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
			schematest.Missing(t, "root", "nothing can be mounted here: "+string(out))
		}
		c := exec.Command("unshare", "--mount", "sh", "-ec", `mount -t tmpfs -o size=16k,nr_inodes=12 tmpfs "$TEST_MOUNTED"
			cd "$TEST_MOUNTED"; printf old >log; printf old >elsewhere; touch mounted; mount --bind elsewhere mounted
			mkdir roomy; mount -t tmpfs tmpfs roomy; touch roomy/mounted; mount --bind elsewhere roomy/mounted
			exec "$0" -test.run '^TestSummaryFileOnAMount$' -test.v`, os.Args[0])
		c.Env = append(os.Environ(), "TEST_MOUNTED="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	mounted, beside := summaryFile(filepath.Join(dir, "mounted")), summaryFile(filepath.Join(dir, "log"))
	has := func(f summaryFile, want string) {
		t.Helper()
		if text, err := os.ReadFile(string(f)); string(text) != want || err != nil {
			t.Errorf("%s has %d bytes, %.20q, %v", f, len(text), text, err)
		}
	}
	for _, text := range []string{"a new summary\n", "a shorter one"} {
		if err := mounted.check(); err != nil {
			t.Error(err)
		}
		if err := mounted.write([]byte(text)); err != nil {
			t.Error(err)
		}
		has(mounted, text)
	}
	for {
		if err := os.WriteFile(filepath.Join(dir, "filling"), make([]byte, 1<<20), 0o600); err != nil {
			break
		}
	}
	large := []byte(strings.Repeat("x", 3*os.Getpagesize()))
	// In a folder with room the file is found not to be replaceable, and then not to be large enough.
	roomy := summaryFile(filepath.Join(dir, "roomy", "mounted"))
	for f, want := range map[summaryFile]string{mounted: "a shorter one", beside: "old", roomy: "a shorter one"} {
		if err := f.check(); err != nil {
			t.Errorf("a run does not have to wait for room: %v", err)
		}
		if err := f.write(large); err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%s: %v", f, err)
		}
		has(f, want)
	}
	// Without room for a new name nothing is written in place either.
	var names []string
	for i := range 100 {
		name := filepath.Join(dir, strings.Repeat("n", i+1))
		if os.WriteFile(name, nil, 0o600) != nil {
			break
		}
		names = append(names, name)
	}
	if err := beside.check(); err != nil {
		t.Errorf("a run does not have to wait for room: %v", err)
	}
	if err := beside.write([]byte("new")); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("without room for a name: %v", err)
	}
	has(beside, "old")
	// The other name of a file that cannot be replaced is somebody else's.
	for _, name := range append(names, filepath.Join(dir, "filling")) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	if err := mounted.write([]byte("short")); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	// In a folder that may not be written to, the file may.
	if out, err := exec.Command("mount", "-o", "remount,bind,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := mounted.write([]byte("short")); err != nil {
		t.Error(err)
	}
	has(mounted, "short")
	if err := beside.check(); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Error(err)
	}
}

// Where the folder belongs to somebody else, as /dev does, a file that may be written is written in place.
func TestSummaryFileInAFolderOfOthers(t *testing.T) {
	dir := tempDir(t)
	file := filepath.Join(dir, "summary")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o666), os.Chmod(file, 0o666), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	defer asNobody(t)()
	f := summaryFile(file)
	if err := errors.Join(f.check(), f.write([]byte("new and longer"))); err != nil {
		t.Error(err)
	}
	isOnly(t, file, "new and longer")
	if err := summaryFile(filepath.Join(dir, "another")).check(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
}

// What takes the file's place between the look and the write is not written to, and not waited for.
func TestSummaryFileReplacedMeanwhile(t *testing.T) {
	file := filepath.Join(tempDir(t), "summary")
	f := summaryFile(file)
	for what, replace := range map[string]func() error{
		"another file":   func() error { return os.WriteFile(file, []byte("kept"), 0o600) },
		"a link to it":   func() error { return os.Symlink(file+".old", file) },
		"a pipe":         func() error { return syscall.Mkfifo(file, 0o600) },
		"a pipe to fill": func() error { return errors.Join(syscall.Mkfifo(file, 0o222), os.Chmod(file, 0o222)) },
		"nothing":        func() error { return nil },
	} {
		os.Remove(file)
		if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		old, err := f.look()
		if err := errors.Join(err, os.Rename(file, file+".old"), replace()); err != nil {
			t.Fatal(err)
		}
		back := func() {}
		if what == "a pipe to fill" { // which root could read as well
			back = asNobody(t)
		}
		in, err := f.open(old)
		back()
		if err == nil {
			in.Close()
			t.Errorf("%s is opened", what)
		}
	}
}
