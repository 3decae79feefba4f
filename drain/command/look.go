package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/seed829e008e/ebb/drain"
)

// Look reports why the program of a command could not be started, as far as that shows without starting it: whether it
// is there, on PATH or at its path, and may be executed. It is for checking settings before anything is touched.
func Look(args []string) error {
	if len(args) == 0 {
		return errors.New("the command is empty")
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return errors.New(whyNot(args[0], err))
	}
	return nil
}

// shortages are what a machine may be short of when it starts a command, by the error that says so.
var shortages = []struct {
	err    error
	remedy string
}{
	{syscall.EMFILE, "ebb may open no more files: raise ulimit -n (LimitNOFILE= in a systemd unit)"},
	{syscall.ENFILE, "this machine has no more open files: raise fs.file-max"},
	{syscall.EAGAIN, "there are no more processes for ebb: raise ulimit -u, TasksMax= in a systemd unit or the container's pids limit"},
	{syscall.ENOMEM, "this machine, or ebb's container, has no memory left: give it more"},
}

// unstarted is the verdict on a command that could not be started. What no shortage of this machine explains is a
// mistake in the settings, or passes before the job was given back three times, as a program that is just being written.
func unstarted(program string, err error) error {
	for _, s := range shortages {
		if errors.Is(err, s.err) {
			return drain.NotStarted(fmt.Errorf("cannot be started: %w; %s, or lower EBB_CONCURRENCY", err, s.remedy))
		}
	}
	return drain.Misconfigured(errors.New("cannot be started: " + whyNot(program, err)))
}

// whyNot explains a refusal to find or to start a program to someone who only wrote its name into a setting.
func whyNot(program string, err error) string {
	file, statErr := os.Stat(program)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, exec.ErrDot):
		if filepath.Base(program) == program && statErr == nil && !file.IsDir() {
			return fmt.Sprintf("%q is not on PATH; for the file in the working directory write ./%s", program, program)
		}
		return fmt.Sprintf("%q is not on PATH", program)
	case statErr == nil && file.IsDir():
		return fmt.Sprintf("%q is a directory", program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("%q is neither a program for %s/%s nor a script that names its interpreter in the first line (#!/bin/sh)",
			program, runtime.GOOS, runtime.GOARCH)
	case errors.Is(err, fs.ErrNotExist) && statErr == nil:
		return fmt.Sprintf("%q is there, but the interpreter that its first line names, or the loader that it was built for, is not", program)
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(program):
		return fmt.Sprintf("%q does not exist (the path is relative to ebb's working directory)", program)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%q does not exist", program)
	case errors.Is(err, syscall.E2BIG):
		return "its environment and arguments are more than the system passes on; unset what is large in ebb's own environment"
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%q may not be executed; run: chmod +x %s", program, program)
	}
	return err.Error()
}
