package command

import (
	"io"
	"os"
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
	to := io.MultiWriter(into, tail)
	// An error is the end as well: finish wants no more of the pipe than what is in it.
	if _, err := io.Copy(to, from); os.IsTimeout(err) {
		rest(from, to)
	}
	into.close()
}

// finish waits a moment for output that is on its way, then lets go of whoever still holds the pipes. What is in them by
// then is read, however late this program comes to it: on a busy machine a command may be gone before that.
func (p *pipes) finish() {
	if !closed(p.printed, lastWait) {
		for _, out := range []io.ReadCloser{p.stdout, p.stderr} {
			f, ok := out.(*os.File)
			if !ok || f.SetReadDeadline(time.Now()) != nil { // Windows has none for pipes
				_ = out.Close()
			}
		}
	}
	_ = p.stdin.Close()
	<-p.printed
	p.close()
	<-p.fed
}

func (p *pipes) close() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}
