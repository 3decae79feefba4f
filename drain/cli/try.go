package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
)

func (p *program) tryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "try QUEUE [flags] [-- COMMAND [ARGUMENT...]] < payload",
		Short: "Run a queue's handler on a payload, without a database",
		Long: `Run the handler of a queue once, as the first attempt at a job with the payload on standard input, and explain how its
answer would be taken. No database is needed or touched. Exit status: 0 the job would be done, 5 the handler is
misconfigured, 1 anything else.`,
		Example: `  echo '{"to": 1}' | ebb try email
  echo '{"to": 1}' | ebb try email -- ./send-email --fast`,
		Args: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash != 1 && len(args) != 1 {
				return wrong("try needs the name of one queue: echo '{\"to\": 1}' | ebb try email")
			}
			return nil
		},
	}
	by := settingFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		var behind dash
		if len(args) > 1 {
			behind = args[1:]
		}
		by.queues = args[:1]
		config, _, all, err := p.settings(*by, behind, false)
		if err != nil {
			return err
		}
		picked, mistakes := config.drained(all, behind, "try")
		if len(mistakes) > 0 {
			return asUsage(errors.Join(mistakes...))
		}
		return p.try(c.Context(), config, picked[0])
	}
	return c
}

func (p *program) try(ctx context.Context, c Config, q queue) error {
	if isTerminal(p.stdin) {
		fmt.Fprintln(p.stderr, "ebb: type the payload, and end it with Ctrl-D on a line of its own")
	}
	payload, err := p.payload(ctx, true)
	if err != nil {
		return err
	}
	payload = []byte(strings.TrimSpace(string(payload)))
	if err := drain.CheckPayload(payload); err != nil {
		return usage{fmt.Errorf("standard input: %w", err)}
	}
	limits := c.limits(p)
	say := &echo{out: p.stdout, line: func(r echoed) string { return r.stream + ": " + r.text }}
	timeout := cmp.Or(q.Timeout, c.JobTimeout, 5*time.Minute)
	handler := p.handlersOf([]queue{q}, c, limits, slog.New(say))[0].Handler
	job := drain.Job{ID: 1, Queue: q.Name, Payload: payload, Attempt: 1, MaxAttempts: 5, RunAt: time.Now(), Run: "try"}

	trying, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
	defer cancel()
	err = call(trying, handler, job)
	if cause := context.Cause(trying); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	a := answerOf(err, q.args != nil, backoffs{cmp.Or(q.Backoff, c.Backoff, 10*time.Second), cmp.Or(c.MaxBackoff, time.Hour)})
	fmt.Fprintln(p.stdout, a.text)
	if _, withheld := command.Environ(p.environ, c.PassEnv); q.args != nil && len(withheld) > 0 {
		fmt.Fprintf(p.stdout, "withheld from its environment: %s (EBB_PASS_ENV names exceptions)\n", strings.Join(withheld, ", "))
	}
	if a.status == 0 {
		return nil
	}
	return answered(a.status)
}

// call runs a handler as a run would: a panic is an error.
func call(ctx context.Context, handler drain.Handler, job drain.Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return handler(ctx, job)
}

// A backoffs is base and cap of the delays.
type backoffs struct{ base, most time.Duration }

// afterFirst is the delay after a first failed attempt, and released that of a job that is given back.
func (b backoffs) afterFirst() time.Duration { return max(min(2*b.base, b.most), time.Second) }
func (b backoffs) released() time.Duration   { return max(b.base, time.Second) }

// An answer is how what a handler came to would be taken.
type answer struct {
	status int // of ebb try
	text   string
}

func answerOf(err error, isCommand bool, b backoffs) answer {
	if err == nil {
		if isCommand {
			return answer{0, "exit status 0: the job would be done"}
		}
		return answer{0, "the handler returned no error: the job would be done"}
	}
	said := err.Error()
	if !isCommand {
		return answer{failed, fmt.Sprintf("the handler returned an error: %s\nunless it is one of drain.Fail, drain.Suspend or drain.Misconfigured it is a failed attempt; the job would be queued again in %v", said, b.afterFirst())}
	}
	said, _, _ = strings.Cut(said, " (withheld from the command: ")
	first, _, _ := strings.Cut(said, ": ")
	switch {
	case first == "exit status 65":
		return answer{failed, "exit status 65: the job would have failed for good"}
	case first == "exit status 69":
		return answer{failed, fmt.Sprintf("exit status 69: suspended; the job would be given back, due again in %v, and its queue would stop for the run", b.released())}
	case first == "exit status 75":
		return answer{failed, fmt.Sprintf("exit status 75: a failed attempt; the job would be queued again in %v", b.afterFirst())}
	case first == "exit status 78", first == "exit status 126", first == "exit status 127":
		return answer{misconfigured, fmt.Sprintf("%s: misconfigured; the job would be given back, due again in %v, and the run would exit with 5", first, b.released())}
	case strings.HasPrefix(said, "cannot be started: "):
		return answer{misconfigured, fmt.Sprintf("it %s: the run would exit with 5", said)}
	case strings.HasPrefix(first, "exit status"):
		return answer{failed, fmt.Sprintf("%s: a failed attempt; the job would be queued again in %v", first, b.afterFirst())}
	}
	return answer{failed, fmt.Sprintf("%s: a failed attempt; the job would be queued again in %v", said, b.afterFirst())}
}
