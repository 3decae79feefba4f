package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
)

// A demoPace is how fast the demo goes by.
type demoPace struct {
	idle   time.Duration // after which a compute pauses
	resume time.Duration // the least that a resume takes
	length time.Duration // of the day
	first  time.Duration // until the day's first wake
	every  time.Duration // from a wake to the next
	visits time.Duration // from one to the next, on average
	slow   bool          // one job takes longer than the idle timeout
}

// demoPace is a minute's worth for who looks at it, and less where nobody does.
func (p *program) demoPace() demoPace {
	pace := demoPace{
		idle: time.Second, resume: 300 * time.Millisecond, length: time.Minute,
		first: 5 * time.Second, every: 15 * time.Second, visits: 11 * time.Second, slow: true,
	}
	if !isTerminal(p.stdout) {
		pace.length, pace.first, pace.every, pace.visits, pace.slow = 14*time.Second, 3500*time.Millisecond, 7*time.Second, 9*time.Second, false
	}
	return pace
}

func (p *program) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show a drain from end to end, on a Postgres of its own",
		Long: `Start a Postgres on this machine that pauses when nobody needs it, as a serverless one does. Make the tables, enqueue
twenty-five small documents and drain them through a shell command. Then show a day in fast-forward: people come at
random and leave jobs, ebb wakes now and then, and the database sleeps in between, beside a second one that a polling
worker keeps awake. How long each was awake is measured, and told at the end.

On a terminal the day lasts a minute, or until Ctrl-C; without one, fourteen seconds. Everything is removed again, but
for a PostgreSQL that had to be downloaded, which is kept in the user's cache. DATABASE_URL is not looked at.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return p.demo(c.Context()) },
	}
}

// demo removes what it made, whatever became of it, before it says how it went.
func (p *program) demo(ctx context.Context) error {
	if runtime.GOOS == "windows" {
		return errors.New("the demo needs a POSIX shell and a Postgres that it can start; on Windows run it in WSL")
	}
	binaries, downloaded, err := local.Binaries(ctx, local.Options{Log: p.demoLog()})
	if err != nil {
		return noDemo(err)
	}
	kept := ""
	if downloaded {
		kept = ",\nbut for what was downloaded now: it is kept for the next time"
	}
	pace := p.demoPace()
	p.say("starting two Postgres servers of its own, which pause when idle for %v;\nnothing else is touched%s", pace.idle, kept)
	day := newDemoDay(pace)
	starting := make(chan error, 1)
	go func() {
		var err error
		day.polled, err = p.demoCompute(ctx, binaries, pace, day.happenedToPolled)
		starting <- err
	}()
	day.drained, err = p.demoCompute(ctx, binaries, pace, day.happened)
	var report drain.Report
	if err == nil {
		report, err = p.demoDocuments(ctx, day.drained)
	}
	if other := <-starting; err == nil {
		err = other
	}
	var told string
	if err == nil && ctx.Err() == nil {
		told, err = p.demoDay(ctx, day)
		if err == nil && ctx.Err() != nil {
			ctx = context.WithoutCancel(ctx) // a day that somebody ended is one that ended as intended
		}
	}
	if stopErr := errors.Join(stopCompute(day.drained), stopCompute(day.polled)); stopErr != nil {
		return errors.Join(err, fmt.Errorf("remove the demo's Postgres servers: %w", stopErr))
	}
	if ctx.Err() != nil {
		p.say("both Postgres servers are stopped, and their data removed")
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	p.say("%s\n\nBoth Postgres servers are stopped, and their data removed.", told)
	if !isTerminal(p.stdout) { // else it was there to read when the documents were done
		p.say("")
		p.summarize(Config{}, report, slog.New(slog.DiscardHandler).Warn)
	}
	return nil
}

// demoCompute starts a compute with ebb's tables.
func (p *program) demoCompute(ctx context.Context, binaries string, pace demoPace, observe func(local.Event)) (*local.Compute, error) {
	compute, err := local.StartCompute(ctx, local.ComputeOptions{
		Options: local.Options{
			Binaries: binaries, Log: p.demoLog(),
			// Its data is gone in a minute anyway.
			Settings: map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
		},
		IdleTimeout: pace.idle, ResumeTime: pace.resume, Observe: observe,
	})
	if err != nil {
		return nil, noDemo(err)
	}
	err = as(ctx, compute, "migrate", func(conn *pgx.Conn) error { return schema.Migrate(ctx, conn, defaultSchema, nil) })
	if err != nil {
		return nil, errors.Join(err, compute.Stop())
	}
	return compute, nil
}

func noDemo(err error) error { return fmt.Errorf("no Postgres for the demo: %w", err) }

func (p *program) demoLog() *slog.Logger { return p.logger(Config{Log: "text"}) }

func stopCompute(c *local.Compute) error {
	if c == nil {
		return nil
	}
	return c.Stop()
}

// as does something through a connection of its own, by a name that the compute's events have.
func as(ctx context.Context, c *local.Compute, name string, do func(*pgx.Conn) error) error {
	conn, err := drain.Connect(ctx, urlOf(c, name), time.Minute, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return do(conn)
}

func urlOf(c *local.Compute, name string) source {
	return func() (*pgx.ConnConfig, error) {
		config, err := pgx.ParseConfig(c.URL())
		if err == nil {
			config.RuntimeParams["application_name"] = name
		}
		return config, err
	}
}

// say prints a line of what happens.
func (p *program) say(format string, args ...any) { fmt.Fprintf(p.stdout, format+"\n", args...) }
