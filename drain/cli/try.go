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
		_, behind := atDash(c, args)
		by.queues = args[:1]
		config, _, all, err := p.settings(*by, behind, false)
		if err != nil {
			return err
		}
		picked, mistakes := config.drained(all, behind, "try")
		mistakes = append(mistakes, look(picked)...)
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
	say := &echo{out: p.stdout, line: func(r echoed) string { return r.stream + ": " + r.text }}
	limits := c.limits(p)
	limits.Queues = p.handlersOf([]queue{q}, c, limits, slog.New(say))
	trial, err := limits.Try(ctx, q.Name, payload)
	if err != nil {
		return asUsage(err)
	}
	if trial.Text != "" {
		fmt.Fprintf(p.stdout, "last_error: %s\n", trial.Text)
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
