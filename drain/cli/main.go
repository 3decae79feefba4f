// Package cli is ebb's command tree: settings from the environment and flags, the commands, and the exit status that
// tells how it went. The ebb program is [Main] with no handlers in Go. A program that has some gets all of it:
//
//	func main() {
//		os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr,
//			drain.Queue{Name: "email", Handler: sendEmail, Timeout: time.Minute},
//		))
//	}
//
// # Settings
//
// [Config] is the only list. Every setting is an environment variable, and but for those of a single queue a flag as
// well: EBB_MAX_JOBS is --max-jobs. Flags win. White space around a value is no part of it. A variable of nothing else
// counts as unset, except that a DATABASE_URL which is there but blank is refused; a flag or an argument of nothing else is
// a mistake. Durations need a unit, 0 alone excepted. All mistakes are reported at once, before anything is connected to.
package cli

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
)

// Main runs one command to its end and returns the exit status; it never exits the process. The arguments are those
// after the program's name. The PG* variables that lead to a database are read from the process's own environment, by
// pgx, whatever environ says of them.
//
// The handlers are drained in their order, before the queues that the environment configures, unless EBB_QUEUES says
// otherwise. What the environment says of a queue's timeout, concurrency and backoff wins over what its Queue says.
//
// Main takes SIGINT and SIGTERM for as long as it runs. After the second one it returns at once, while handlers in Go
// may still run: exit then.
func Main(args, environ []string, stdin io.Reader, stdout, stderr io.Writer, handlers ...drain.Queue) int {
	p := &program{
		started: time.Now(), args: args, environ: environ, handlers: handlers,
		stdin: stdin, stdout: stdout, stderr: newScreen(stderr), running: &command.Running{},
	}
	p.learn()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup means what it says
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	// Whoever stops reading the log must not end a run in the middle: with this a write to it fails instead.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	return p.main(args, signals)
}

// A program is one call of Main.
type program struct {
	started  time.Time
	args     []string
	typed    []error // what is wrong with them
	environ  []string
	handlers []drain.Queue
	stdin    io.Reader
	stdout   io.Writer
	stderr   *screen
	running  *command.Running
	run      lastRun
	secrets  drain.Secrets
}
