package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

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
			if before, _ := atDash(c, args); len(before) != 1 {
				return wrong("try needs the name of one queue: echo '{\"to\": 1}' | ebb try email")
			}
			return nil
		},
	}
	by := settingFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		before, behind := atDash(c, args)
		by.only = strings.Join(before[:min(1, len(before))], "")
		config, _, all, err := p.settings(*by, behind, false)
		mistakes := []error{err}
		var picked []queue
		if !blank(by.only) {
			var wrong []error
			picked, wrong = config.drained(all, behind, "try")
			mistakes = append(append(mistakes, wrong...), look(picked)...)
		}
		limits := config.limits(p)
		limits.Queues = p.handlersOf(picked, config, limits, slog.New(slog.DiscardHandler))
		mistakes = append(mistakes, config.checked(limits)...)
		return p.try(c.Context(), config, picked, errors.Join(mistakes...))
	}
	return c
}

// try reads the payload, says all that is wrong, and else does it.
func (p *program) try(ctx context.Context, c Config, picked []queue, mistakes error) error {
	if isTerminal(p.stdin) {
		if mistakes != nil {
			return asUsage(mistakes)
		}
		fmt.Fprintln(p.stderr, "ebb: type the payload, and end it with Ctrl-D on a line of its own")
	}
	payload, err := p.payload(ctx, true)
	if err != nil && mistakes == nil {
		return err
	}
	payload = []byte(strings.TrimSpace(string(payload)))
	if wrong := drain.CheckPayload(payload); err == nil && wrong != nil {
		mistakes = errors.Join(mistakes, fmt.Errorf("standard input: %w", wrong))
	}
	if mistakes != nil {
		return asUsage(mistakes)
	}
	q := picked[0]
	say := &echo{out: p.stdout, line: func(r echoed) string { return r.stream + ": " + r.text }}
	limits := c.limits(p)
	limits.Queues = p.handlersOf([]queue{q}, c, limits, slog.New(say))
	trial, err := limits.Try(ctx, q.Name, payload)
	if err != nil {
		return asUsage(err)
	}
	if trial.Text != "" {
		fmt.Fprintf(p.stdout, "last_error: %s\n", p.secrets.Redact(trial.Text))
	}
	fmt.Fprintln(p.stdout, trial.Meaning)
	if _, withheld := command.Environ(p.environ, c.PassEnv); q.args != nil && len(withheld) > 0 && trial.Done {
		fmt.Fprintf(p.stdout, "withheld from its environment: %s (EBB_PASS_ENV names exceptions)\n", strings.Join(withheld, ", "))
	}
	switch {
	case trial.Misconfigured:
		return answered(misconfigured)
	case !trial.Done:
		return answered(failed)
	}
	return nil
}
