package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/schedule/awake"
)

func (p *program) awakeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "awake [flags]",
		Short: "Show who keeps the database awake",
		Long: `Show why the database is awake: the sessions that there are, what else works in it, what of that holds it awake by the
rules of the compute, when it could pause at the earliest, and what to change. Name the compute with --compute; without
it, what not every compute counts is shown as a maybe.

Asking is activity too: it wakes a database that is paused, and restarts the idle timeout of one that is not. One look
misses who comes only now and then. With --watch there are two, that long apart and without a connection in between,
and what happened meanwhile is shown: choose it longer than the polls that you suspect.

What the role may not see is shown as unknown; it sees all as a member of pg_read_all_stats. Exit status: 0, whatever is
found.`,
		Example: `  ebb awake --compute neon
  ebb awake --compute aurora --idle-timeout 10m --watch 2m`,
		Args: noArguments,
	}
	by := settingFlags(c)
	watch := c.Flags().String("watch", "", "look twice, this long apart, from 1s to 1h; for example 2m")
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		config, database, _, err := p.settings(*by, nil, true)
		apart, mistake := parseWatch(*watch)
		if err := errors.Join(err, mistake); err != nil {
			return asUsage(err)
		}
		s, encrypted, err := p.lookAwake(c.Context(), config, database)
		if err != nil {
			return err
		}
		if apart > 0 {
			p.logger(config).Info("looked once; looking again later", "in", apart.String())
			select {
			case <-time.After(apart):
			case <-c.Context().Done():
				return context.Cause(c.Context())
			}
			first := s
			if s, encrypted, err = p.lookAwake(c.Context(), config, database); err != nil {
				return err
			}
			s.Before = &first
		}
		r := awakeReport(s, config)
		r.Encryption = encrypted
		if *asJSON {
			return r.printJSON(p.stdout)
		}
		return r.print(p.stdout)
	}
	return c
}

func parseWatch(text string) (time.Duration, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	d, err := parseDuration(text)
	if err == nil && (d < time.Second || d > time.Hour) {
		err = fmt.Errorf("%s is not from 1s to 1h", text)
	}
	if err != nil {
		return 0, fmt.Errorf("--watch: %w", err)
	}
	return d, nil
}

// lookAwake looks through a connection that is closed when it returns.
func (p *program) lookAwake(ctx context.Context, config Config, database source) (s awake.Snapshot, encrypted encryption, err error) {
	began := time.Now()
	err = p.withConnection(ctx, config, database, func(conn *pgx.Conn, _ *slog.Logger) error {
		s, err = awake.Look(ctx, conn)
		s.Waited = time.Since(began)
		encrypted = encryptionOf(conn)
		return err
	})
	return s, encrypted, err
}
