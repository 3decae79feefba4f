package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/drain"
)

func (p *program) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Drain the queues once, and exit",
		Long: `Drain the queues once: take back leases that ran out, claim what is due in batches, run the handlers, settle, until
nothing is due. The last line on standard output is the summary, JSON unless it goes to a terminal. The log goes to
standard error.

A queue's handler is the command in EBB_QUEUE_<Q>_COMMAND, or the one behind -- for the queues that --queue names
(the queue default where it names none).

` + groupHelp() + `
Exit status: 0 ended as intended, 1 the run failed, 3 and 4 see --strict, 5 a handler misconfigured or abandoned,
78 usage, settings or schema, 128 + n a second signal.`,
		Example: `  EBB_QUEUE_EMAIL_COMMAND=./send-email ebb run
  ebb run --queue email --max-runtime 10m -- ./send-email --fast`,
		Args: nothingButDash,
	}
	by := drainFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		_, behind := atDash(c, args)
		return p.drain(c.Context(), *by, behind)
	}
	return c
}

func (p *program) drain(ctx context.Context, by given, behind dash) error {
	r, err := p.prepare(by, behind)
	if err != nil {
		return err
	}
	defer p.running.ReapStrays()()
	return p.runOnce(ctx, r, p.started)
}

// A prepared is a run whose settings were found right.
type prepared struct {
	settings Config
	config   drain.Config
	resident bool // one run of many: no progress is shown
}

// prepare reads all that a run needs. All mistakes are in the error, and no database was asked.
func (p *program) prepare(by given, behind dash) (prepared, error) {
	environ := environment(p.environ)
	c, mistakes := p.load(by)
	database, wrong := c.database(environ, by)
	mistakes = append(mistakes, wrong...)
	all, misset := c.queues(p.handlers, behind)
	queues, wrong := c.drained(all, behind, by.named())
	misset = append(misset, wrong...)
	if len(queues) == 0 && len(misset) == 0 {
		misset = append(misset, errNoHandler)
	}
	mistakes = append(append(mistakes, misset...), look(queues)...)

	log := p.logger(c)
	config := c.limits(p)
	config.Database, config.Log = database, log
	config.Queues = p.handlersOf(queues, c, config, log)
	mistakes = append(mistakes, c.checked(config)...)
	if c.SummaryFile != "" && len(mistakes) == 0 {
		// Emptied now, so that a run which dies leaves no summary of an earlier one.
		if err := os.WriteFile(c.SummaryFile, nil, 0o644); err != nil {
			mistakes = append(mistakes, fmt.Errorf("EBB_SUMMARY_FILE cannot be written: %w", err))
		}
	}
	if len(mistakes) > 0 {
		return prepared{}, asUsage(errors.Join(mistakes...))
	}
	p.warnNeverSleeps(c, log)
	return prepared{settings: c, config: config}, nil
}

// wrongBackoffs is checked for a command that derives the other limits, and does not look for handlers.
func (c Config) wrongBackoffs(p *program, queues []queue) []error {
	config := c.limits(p)
	for _, q := range queues {
		q.Handler = func(context.Context, drain.Job) error { return nil }
		config.Queues = append(config.Queues, q.Queue)
	}
	return slices.DeleteFunc(c.checked(config), func(err error) bool {
		return !strings.Contains(err.Error(), c.nameOf("MaxBackoff", ""))
	})
}

var errNoHandler = errors.New("no queue has a handler: give one, for example EBB_QUEUE_EMAIL_COMMAND=./send-email")

// limits is what the settings say of a run, apart from where the jobs are and what handles them.
func (c Config) limits(p *program) drain.Config {
	host, _ := os.Hostname()
	return drain.Config{
		Schema: c.Schema, Batch: c.Batch, Concurrency: c.Concurrency, MaxJobs: c.MaxJobs,
		JobTimeout: c.JobTimeout, Lease: c.Lease, Grace: c.Grace, MaxRuntime: c.MaxRuntime, Linger: c.Linger,
		Backoff: c.Backoff, MaxBackoff: c.MaxBackoff, ConnectTimeout: c.ConnectTimeout,
		Host: host, Version: Version(), NameOf: c.nameOf, Redact: p.secrets.Redact,
	}
}

// checked is what drain finds wrong with a configuration, but for what is missing or misread because of a mistake that was
// said.
func (c Config) checked(config drain.Config) (mistakes []error) {
	config.Database, config.Schema = func() (*pgx.ConnConfig, error) { return nil, nil }, ""
	if len(config.Queues) == 0 {
		config.Queues = []drain.Queue{{Name: "-", Handler: func(context.Context, drain.Job) error { return nil }}}
	}
	if err := config.Check(); err != nil {
		mistakes = slices.DeleteFunc(each(err), func(err error) bool { return !c.read.couldRead(err) })
	}
	return mistakes
}

// runOnce runs, shows how far it got and prints the summary. What it returns is a [runEnd]. Its budget counts from the
// time at which it started.
func (p *program) runOnce(ctx context.Context, r prepared, started time.Time) error {
	config := r.config
	config.Started = started
	var line *progress
	if !r.resident {
		line = showProgress(p.stderr)
	}
	p.run.begin(started, func(report drain.Report) {
		line.end()
		p.summarize(r.settings, report, config.Log.Warn)
	})
	config.Observe = func(report drain.Report) {
		p.run.observe(report)
		line.observe(report)
	}
	report, err := drain.Run(ctx, config)
	line.end()
	if err != nil {
		config.Log.Error("the run failed", "error", err)
	}
	p.run.end(report)
	return runEnd{report: report, err: err, strict: r.settings.Strict}
}
