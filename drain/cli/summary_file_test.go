//go:build unix

package cli

import (
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
	socket, err := net.Listen("unix", in("socket"))
	must(err)
	defer socket.Close()

	for _, test := range []struct{ name, says string }{
		{in("pipe"), "is a named pipe"}, {in("socket"), "is a socket"}, {in("folder"), "is a directory"},
		{in("link"), "is a symbolic link"}, {in("dangling"), "is a symbolic link"}, {in("link to a pipe"), "is a symbolic link"},
		{in("link to a link"), "is a symbolic link"}, {"/dev/full", "is a device"}, {"/dev/null", "is a device"},
		{"/dev/stdout", "is a symbolic link"}, {in("no") + "/summary", "no such file or directory"},
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
	if info, err := os.Stat(in("old")); err != nil || info.Mode() != 0o640 {
		t.Errorf("its rights are %v now, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(in(".*"))
	if len(left) > 0 || err != nil {
		t.Errorf("left beside it: %v", left)
	}
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
		c := exec.Command("unshare", "--mount", "sh", "-ec", `mount -t tmpfs -o size=16k tmpfs "$TEST_MOUNTED"
			cd "$TEST_MOUNTED"; printf old >log; printf old >elsewhere; touch mounted; mount --bind elsewhere mounted
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
	for f, want := range map[summaryFile]string{mounted: "a shorter one", beside: "old"} {
		if err := f.check(); err != nil {
			t.Errorf("a run does not have to wait for room: %v", err)
		}
		if err := f.write(large); err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%s: %v", f, err)
		}
		has(f, want)
	}
	// In a folder that may not be written to, the file may.
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if err := mounted.write([]byte("short")); err != nil {
		t.Error(err)
	}
	has(mounted, "short")
	if err := beside.check(); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Error(err)
	}
}
