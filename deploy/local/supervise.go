package local

import (
	"fmt"
	"os"
	"os/exec"
)

// supervise runs a server until it ends or standard input does. Then it stops it: fast at first, which ends sessions
// and writes a checkpoint, and again every second, because a signal that comes before the server is set up for it goes
// unheard; immediately after ten seconds; by force after five more.
//
// The shell waits for the server and a second one for the end of the input, which is also how the shell ends as soon
// as the server does. Descriptor 3 is the directory's pipe: the server holds it, the waiting shell does not. At the end
// what is left of the group is that shell and its sleep.
const supervise = `
exec 4<&0 </dev/null
"$@" 4<&- &
server=$!
{
	read -r _
	for _ in 1 2 3 4 5 6 7 8 9 10; do kill -INT "$server"; sleep 1; done
	kill -QUIT "$server"; sleep 5; kill -KILL "$server"
} <&4 3<&- &
exec 4<&-
wait "$server"
status=$?
trap '' TERM
kill -TERM 0
exit "$status"
`

// A process is a running server and the shell above it.
type process struct {
	shell *exec.Cmd
	// The server is stopped when the write end of this pipe is closed, by stop or by the end of this process.
	lifeline *os.File
	// ended is closed when server and shell are gone; err is their status.
	ended chan struct{}
	err   error
}

// run starts a server under a supervisor. It holds the directory as long as any part of it lives.
func run(dir *directory, as *account, env []string, log *os.File, command ...string) (*process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	shell := exec.Command("sh", append([]string{"-c", supervise, "ebb-server"}, command...)...)
	shell.Stdin, shell.Stdout, shell.Stderr = read, log, log
	shell.ExtraFiles = []*os.File{dir.hold}
	shell.Dir, shell.Env = dir.path, append(environment(), env...)
	as.confine(shell)
	if err := shell.Start(); err != nil {
		write.Close()
		return nil, err
	}
	p := &process{shell: shell, lifeline: write, ended: make(chan struct{})}
	go func() {
		p.err = shell.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop stops the server and waits until it is gone.
func (p *process) stop() error {
	p.lifeline.Close()
	<-p.ended
	if p.err != nil {
		return fmt.Errorf("the server ended with %w", p.err)
	}
	return nil
}

// environment is what the server gets of this process' environment: the way to programs and libraries, and none of
// what may hold secrets or change what a server does (PGPORT, PGOPTIONS, TZ, ...).
func environment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
