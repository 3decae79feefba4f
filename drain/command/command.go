package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

const defaultKillAfter = 5 * time.Second

// A Command is the handler of a queue whose jobs run through a program. It holds no state of a job and may run any
// number of them at once.
type Command struct {
	// Args is the program and its arguments, as Split gives them.
	Args []string
	// Env is what the program sees of the worker's environment, as Environ gives it; the job's variables are added. Empty
	// means those alone.
	Env []string
	// Withheld names the variables that Environ withheld, for the errors of failed commands.
	Withheld []string
	// KillAfter is the time from SIGTERM to SIGKILL once the job's context has ended. Zero means five seconds.
	KillAfter time.Duration
	// Running, if any, can kill the commands that run.
	Running *Running
	// Redact, if any, takes what is secret out of what the program prints, and out of the last error that it is given. It
	// gets whole lines, and the end of standard error, and may be called for several jobs at once.
	Redact func(text string) string
	// Log gets what the program prints, with the attributes queue, id and stream. Nil means that nobody reads it.
	Log *slog.Logger
}

// Handle runs the command for one job; it is a [drain.Handler]. It returns when the command has ended and nothing of its
// process group is left, however that came about: within KillAfter and about a second once ctx has ended.
func (c Command) Handle(ctx context.Context, job drain.Job) error {
	if len(c.Args) == 0 {
		return drain.Misconfigured(errors.New("the command is empty"))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the command was not started: %w", context.Cause(ctx))
	}
	if c.Redact == nil {
		c.Redact = func(text string) string { return text }
	}
	job.LastError = bounded(c.Redact(job.LastError))
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = append(c.Env[:len(c.Env):len(c.Env)], variables(ctx, job)...)
	p, err := c.Running.start(cmd)
	if err != nil {
		return unstarted(c.Args[0], err)
	}

	pipes := p.pipes
	pipes.serve(job.Payload, c.printer(ctx, job, "stdout"), c.printer(ctx, job, "stderr"))
	killAfter := cmp.Or(c.KillAfter, defaultKillAfter)
	ending := p.await(ctx, pipes.printed, killAfter)
	if c.Running.remove(p) {
		select {} // the program is about to exit, and what a killed command came to is no answer to anything
	}
	pipes.finish()
	if ending.strays && c.Log != nil {
		c.Log.WarnContext(ctx, "killed what the command left running", "queue", job.Queue, "id", job.ID)
	}

	status, text := p.status()
	m := meaningOf(status, ending.told)
	if m == done {
		return nil
	}
	if ending.killed {
		text += fmt.Sprintf(" (SIGTERM had not ended it after %s)", killAfter)
	}
	if tail := pipes.stderrTail.text(c.Redact); tail != "" {
		text += ": " + tail
	}
	return m.verdict(errors.New(text + withheldNote(c.Withheld)))
}

// printer logs the lines of one stream of a job's command.
func (c Command) printer(ctx context.Context, job drain.Job, stream string) *lines {
	if c.Log == nil {
		return &lines{log: func(string) {}, redact: c.Redact}
	}
	return &lines{redact: c.Redact, log: func(line string) {
		c.Log.LogAttrs(ctx, slog.LevelInfo, line,
			slog.String("queue", job.Queue), slog.Int64("id", job.ID), slog.String("stream", stream))
	}}
}
