package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/drain"
)

func (p *program) enqueueCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "enqueue QUEUE [JSON | -] [flags]",
		Short: "Put a job into a queue, or many",
		Long: `Put a job into a queue and print its id. The payload is the argument, or standard input where that is - or missing.

With --lines every line of standard input is the payload of a job of its own. Blank lines are passed over. All lines
are checked first, then all jobs are inserted in one transaction: where one line is bad, nothing is.

With --unique-key nothing is inserted while a job of the queue that is queued or running has the same key.`,
		Example: `  ebb enqueue email '{"to": 1}' --in 5m
  jq -c '.[]' documents.json | ebb enqueue index --lines`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return wrong("enqueue needs the name of a queue: ebb enqueue email '{\"to\": 1}'")
			case len(args) > 2:
				return wrong("enqueue takes a queue and one payload; put the payload into quotes: ebb enqueue %s '{\"to\": 1}'", args[0])
			}
			return nil
		},
	}
	by := settingFlags(c)
	var e enqueueing
	c.Flags().StringVar(&e.in, "in", "", "due after this duration, by the database's clock")
	c.Flags().StringVar(&e.at, "at", "", "due at this time: 2026-01-31T09:00:00Z")
	c.Flags().StringVar(&e.job.UniqueKey, "unique-key", "", "insert nothing while a queued or running job of the queue has this key")
	c.Flags().StringVar(&e.attempts, "max-attempts", "", "how often the job is tried (default: 5)")
	c.Flags().BoolVar(&e.lines, "lines", false, "every line of standard input is a payload")
	c.RunE = func(c *cobra.Command, args []string) error {
		config, database, _, wrong := p.settings(*by, nil, true)
		wrong = errors.Join(wrong, e.read(args))
		var lines *spool
		var err error
		switch {
		case len(p.typed) > 0: // who knows what was meant for the payload
		case e.lines:
			lines, err = untilSignal(c.Context(), func() (*spool, error) { return checkLines(p.stdin) })
		default:
			err = p.readPayload(c.Context(), &e, args[1:])
		}
		if lines != nil {
			defer lines.close()
		}
		switch {
		case wrong != nil:
			return asUsage(errors.Join(wrong, err))
		case err != nil:
			return err
		case e.lines:
			return p.enqueueLines(c.Context(), config, database, e, lines)
		}
		return p.enqueueOne(c.Context(), config, database, e)
	}
	return c
}

// An enqueueing is what the command line says of the jobs to put in.
type enqueueing struct {
	in, at, attempts string
	lines            bool

	job   drain.NewJob
	delay time.Duration
}

// read understands the flags, and gives all that is wrong with them.
func (e *enqueueing) read(args []string) error {
	var mistakes []error
	var err error
	if len(args) > 0 {
		e.job.Queue = args[0]
	}
	if err := oddName(e.job.Queue); err != nil {
		mistakes = append(mistakes, err)
	}
	if !blank(e.in) {
		if e.delay, err = parseDuration(e.in); err != nil {
			mistakes = append(mistakes, fmt.Errorf("--in: %w", err))
		}
	}
	if !blank(e.at) {
		if e.job.RunAt, err = time.Parse(time.RFC3339, e.at); err != nil {
			mistakes = append(mistakes, fmt.Errorf("--at: %q is not a time; use for example 2026-01-31T09:00:00Z", e.at))
		}
	}
	if !blank(e.in) && !blank(e.at) {
		mistakes = append(mistakes, errors.New("--in and --at are both given; keep one of them"))
	}
	if !blank(e.attempts) {
		e.job.MaxAttempts, err = parseCount(e.attempts)
		if err == nil && (e.job.MaxAttempts == 0 || e.job.MaxAttempts > 1<<31-1) {
			err = fmt.Errorf("%s is not a number from 1 to %d", e.attempts, 1<<31-1)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("--max-attempts: %w; use for example 5", err))
		}
	}
	switch {
	case e.lines && len(args) > 1 && args[1] != "-":
		mistakes = append(mistakes, errors.New("--lines takes the payloads from standard input, not from an argument"))
	case e.lines && e.job.UniqueKey != "":
		mistakes = append(mistakes, errors.New("--lines and --unique-key: the key would be that of every line, so that only one of them could be inserted"))
	}
	if len(mistakes) == 0 {
		but := e.job
		but.Payload = json.RawMessage("null") // payloads are checked where they are read
		return but.Check()
	}
	return errors.Join(mistakes...)
}

// due sets when the jobs fall due, where that is told from now: the database's.
func (e *enqueueing) due(ctx context.Context, conn *pgx.Conn) error {
	if e.delay == 0 {
		return nil
	}
	if err := conn.QueryRow(ctx, `select pg_catalog.now()`).Scan(&e.job.RunAt); err != nil {
		return err
	}
	e.job.RunAt = e.job.RunAt.Add(e.delay)
	return nil
}

// readPayload takes the payload from the arguments or standard input, and checks it.
func (p *program) readPayload(ctx context.Context, e *enqueueing, args []string) error {
	if len(args) > 0 && args[0] != "-" {
		e.job.Payload = json.RawMessage(args[0])
	} else {
		text, err := p.payload(ctx, len(args) > 0)
		if err != nil {
			return err
		}
		e.job.Payload = text
	}
	return asUsage(drain.CheckPayload(e.job.Payload))
}

func (p *program) enqueueOne(ctx context.Context, c Config, database source, e enqueueing) error {
	return p.withConnection(ctx, c, database, func(conn *pgx.Conn, _ *slog.Logger) error {
		if err := e.due(ctx, conn); err != nil {
			return notMigrated(ctx, conn, c.Schema, err)
		}
		id, inserted, err := drain.Enqueue(ctx, conn, c.Schema, e.job)
		switch {
		case err != nil:
			return notMigrated(ctx, conn, c.Schema, err)
		case !inserted:
			_, err = fmt.Fprintf(p.stdout, "the key %q is taken by a queued or running job of the queue %s: nothing is inserted\n", e.job.UniqueKey, e.job.Queue)
		default:
			if _, err = fmt.Fprintln(p.stdout, id); err != nil {
				err = fmt.Errorf("the job is there, with the id %d, which could not be printed: %w", id, err)
			}
		}
		return err
	})
}

// payload reads standard input to its end. From a terminal it does so only where that was asked for.
func (p *program) payload(ctx context.Context, asked bool) ([]byte, error) {
	if !asked && isTerminal(p.stdin) {
		return nil, wrong("there is no payload; give it as an argument or on standard input")
	}
	return untilSignal(ctx, func() ([]byte, error) { return io.ReadAll(p.stdin) })
}

// untilSignal does what cannot be interrupted, and leaves it behind when ctx ends.
func untilSignal[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
