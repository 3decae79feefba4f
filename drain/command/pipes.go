package command

import (
	"io"
	"os/exec"
	"sync"
	"time"
)

const (
	// outputWait is how long output is read after the command's own end, from whoever holds it open.
	outputWait = time.Second
	// lastWait is the same when the group is gone, and all that it printed is in the pipes already.
	lastWait = 200 * time.Millisecond
)

// pipes are ebb's ends of a command's three streams.
type pipes struct {
	stdin          io.WriteCloser
	stdout, stderr io.ReadCloser

	stderrTail tail          // to be read after finish
	printed    chan struct{} // closed at the end of both outputs
	fed        chan struct{} // closed when the payload was written, or could not be
}

func connect(cmd *exec.Cmd) (*pipes, error) {
	var stdout, stderr io.ReadCloser
	stdin, err := cmd.StdinPipe()
	if err == nil {
		stdout, err = cmd.StdoutPipe()
	}
	if err == nil {
		stderr, err = cmd.StderrPipe()
	}
	if err != nil {
		// At once, not when it is collected: a process that is short of files needs these.
		for _, end := range []any{stdin, stdout, stderr, cmd.Stdin, cmd.Stdout, cmd.Stderr} {
			if c, ok := end.(io.Closer); ok {
				_ = c.Close()
			}
		}
		return nil, err
	}
	return &pipes{
		stdin: stdin, stdout: stdout, stderr: stderr,
		printed: make(chan struct{}), fed: make(chan struct{}),
	}, nil
}

// serve writes the payload and reads both outputs to their ends in the background.
func (p *pipes) serve(payload []byte, stdout, stderr *lines) {
	go func() {
		defer close(p.fed)
		// An error means that the command does not read its input, or not all of it. That is its own affair.
		_, _ = p.stdin.Write(payload)
		_ = p.stdin.Close()
	}()
	var reading sync.WaitGroup
	reading.Go(func() { read(p.stdout, stdout, io.Discard) })
	reading.Go(func() { read(p.stderr, stderr, &p.stderrTail) })
	go func() {
		reading.Wait()
		close(p.printed)
	}()
}

func read(from io.Reader, into *lines, tail io.Writer) {
	_, _ = io.Copy(io.MultiWriter(into, tail), from) // an error is the end as well: finish closed the pipe
	into.close()
}

// finish waits a moment for output that is on its way, then lets go of whoever still holds the pipes.
func (p *pipes) finish() {
	closed(p.printed, lastWait)
	p.close()
	<-p.printed
	<-p.fed
}

func (p *pipes) close() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}
