//go:build unix

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

// programs makes a working directory with files that can and cannot be started.
func programs(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string]struct {
		mode os.FileMode
		text string
	}{
		"good":        {0o755, "#!/bin/sh\nexit 0\n"},
		"unmarked":    {0o644, "#!/bin/sh\nexit 0\n"},
		"bare":        {0o755, "exit 0\n"},
		"stranger":    {0o755, "#!/no/such/interpreter\n"},
		"bin/on-path": {0o755, "#!/bin/sh\nexit 0\n"},
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
}

func TestLookAndStart(t *testing.T) {
	programs(t)
	for _, test := range []struct {
		program     string
		look, start string // parts of the errors; empty for none
	}{
		{"./good", "", ""},
		{"on-path", "", ""},
		{"bin/on-path", "", ""},
		{"no-such-program", `"no-such-program" is not on PATH`, `cannot be started: "no-such-program" is not on PATH`},
		{"good", "for the file in the working directory write ./good", "write ./good"},
		{"./missing", `"./missing" does not exist (the path is relative to ebb's working directory)`, `"./missing" does not exist`},
		{"/no/such", `"/no/such" does not exist`, `"/no/such" does not exist`},
		{"./good/x", "not a directory", "not a directory"},
		{"./unmarked", "run: chmod +x ./unmarked", "run: chmod +x ./unmarked"},
		{"./bin", `"./bin" is a directory`, `"./bin" is a directory`},
		{"./good\r", `"./good\r" does not exist`, `"./good\r" does not exist`},
		// These show only when the system tries.
		{"./bare", "", "nor a script that names its interpreter in the first line (#!/bin/sh)"},
		{"./stranger", "", "the interpreter that its first line names, or the loader that it was built for, is not"},
	} {
		t.Run(test.program, func(t *testing.T) {
			matches(t, Look([]string{test.program}), test.look)
			err := Command{Args: []string{test.program}}.Handle(t.Context(), drain.Job{})
			matches(t, err, test.start)
			if err != nil && meant(err) != misconfigured {
				t.Errorf("%v is not taken for a mistake in the settings", err)
			}
		})
	}
	matches(t, Look(nil), "the command is empty")
	matches(t, Command{}.Handle(t.Context(), drain.Job{}), "the command is empty")
}

func matches(t *testing.T, err error, part string) {
	t.Helper()
	if (err == nil) != (part == "") || !strings.Contains(text(err), part) {
		t.Errorf("%v, want %q", err, part)
	}
}

func TestUnstarted(t *testing.T) {
	for _, test := range []struct {
		err  error
		want meaning
	}{
		{syscall.EAGAIN, notStarted},
		{syscall.ENOMEM, notStarted},
		{syscall.EMFILE, notStarted},
		{syscall.ENFILE, notStarted},
		{syscall.ETXTBSY, misconfigured},
		{syscall.E2BIG, misconfigured},
		{syscall.ENOENT, misconfigured},
		{syscall.EACCES, misconfigured},
		{syscall.EPERM, misconfigured},
		{syscall.ENOEXEC, misconfigured},
		{syscall.ELOOP, misconfigured},
		{errors.New("whatever"), misconfigured},
	} {
		wrapped := fmt.Errorf("start: %w", &os.PathError{Op: "fork/exec", Path: "/x", Err: test.err})
		err := unstarted("/x", wrapped)
		if got := meant(err); got != test.want {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
		if remedy := strings.Contains(text(err), ", or lower EBB_CONCURRENCY"); remedy != (test.want == notStarted) {
			t.Errorf("%v: %v", test.err, err)
		}
	}
}

// An environment that is too big is no shortage of this machine: the next start would fail alike.
func TestTooBigAnEnvironment(t *testing.T) {
	c := shell("exit 0")
	for i := range 64 {
		c.Env = append(c.Env, fmt.Sprintf("BIG%d=%s", i, strings.Repeat("x", 120<<10)))
	}
	err := c.Handle(t.Context(), drain.Job{})
	if meant(err) != misconfigured || !strings.HasPrefix(text(err), "cannot be started: its environment and arguments are more than") {
		t.Error(err)
	}
}
