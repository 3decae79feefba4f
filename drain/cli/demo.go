package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
	"github.com/seed829e008e/ebb/schema"
)

const (
	demoQueue     = "documents"
	demoDocuments = 25
)

// demoScript is the demo's handler: it makes a checksum of each document, with what every POSIX system has.
const demoScript = `document=$(cat)
case $document in
*'"paper": "jammed"'*)
	if [ "$EBB_JOB_ATTEMPT" -eq 1 ]; then echo "the scanner is jammed" >&2; exit 75; fi ;;
*'"paper": "blank"'*)
	echo "there is nothing on it" >&2; exit 65 ;;
esac
printf %s "$document" | cksum`

func (p *program) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show a drain from end to end, on a Postgres of its own",
		Long: `Start a Postgres on this machine, make the tables, enqueue twenty-five small documents, drain them through a shell
command, and remove everything again. DATABASE_URL is not looked at.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return p.demo(c.Context()) },
	}
}

// demo removes what it made, whatever became of it, before it prints the summary.
func (p *program) demo(ctx context.Context) error {
	if runtime.GOOS == "windows" {
		return errors.New("the demo needs a POSIX shell and a Postgres that it can start; on Windows run it in WSL")
	}
	p.say("starting a Postgres of its own; nothing else is touched")
	server, err := local.Start(ctx, local.Options{Log: slog.New(slog.NewTextHandler(p.stderr, nil))})
	if err != nil {
		return fmt.Errorf("no Postgres for the demo: %w", err)
	}
	report, err := p.demoOn(ctx, server.URL())
	if stopErr := server.Stop(); stopErr != nil {
		return errors.Join(err, fmt.Errorf("remove the demo's Postgres: %w", stopErr))
	}
	p.say("the Postgres is stopped, and its data removed")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	p.say("")
	p.summarize(Config{}, report, slog.New(slog.DiscardHandler).Warn)
	return nil
}

func (p *program) demoOn(ctx context.Context, url string) (drain.Report, error) {
	database := func() (*pgx.ConnConfig, error) { return pgx.ParseConfig(url) }
	if err := p.demoJobs(ctx, database); err != nil {
		return drain.Report{}, err
	}
	p.say("\n$ EBB_BACKOFF=1s EBB_LINGER=20s ebb run --queue %s -- sh -c 'cksum, but for two jammed documents and a blank one'", demoQueue)
	config := drain.Config{
		Database: database, MaxRuntime: time.Minute,
		Backoff: time.Second, Linger: 20 * time.Second, // so that retries happen in the same run
		Started: time.Now(), Version: Version(),
	}
	env, _ := command.Environ(p.environ, nil)
	script := command.Command{
		Args: []string{"sh", "-c", demoScript}, Env: env, KillAfter: config.KillAfter(), Running: p.running,
		Log: slog.New(&echo{out: p.stdout, line: func(r echoed) string {
			if r.stream == "stderr" {
				return "" // it is in the error
			}
			return fmt.Sprintf("  job %-2d  checksum and bytes: %s", r.id, r.text)
		}}),
	}
	config.Queues = []drain.Queue{{Name: demoQueue, Handler: func(ctx context.Context, job drain.Job) error {
		err := script.Handle(ctx, job)
		if err != nil {
			p.say("  job %-2d  attempt %d: %v", job.ID, job.Attempt, err)
		}
		return err
	}}}
	return drain.Run(ctx, config)
}

// demoJobs makes the tables and puts the documents in.
func (p *program) demoJobs(ctx context.Context, database source) error {
	conn, err := drain.Connect(ctx, database, time.Minute, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	p.say("\n$ ebb migrate")
	if err := schema.Migrate(ctx, conn, defaultSchema, nil); err != nil {
		return err
	}
	p.say("schema %s is at version %d", defaultSchema, schema.Version)
	p.say("\n$ ebb enqueue %s --lines < documents", demoQueue)
	var jobs []drain.NewJob
	for n := 1; n <= demoDocuments; n++ {
		paper := "fine"
		switch n {
		case 7, 19:
			paper = "jammed"
		case 13:
			paper = "blank"
		}
		payload := fmt.Sprintf(`{"document": %d, "paper": %q}`, n, paper)
		jobs = append(jobs, drain.NewJob{Queue: demoQueue, Payload: json.RawMessage(payload)})
	}
	inserted, err := drain.EnqueueMany(ctx, conn, defaultSchema, jobs)
	if err != nil {
		return err
	}
	p.say("%d inserted", inserted)
	return nil
}

// say prints a line of what happens.
func (p *program) say(format string, args ...any) { fmt.Fprintf(p.stdout, format+"\n", args...) }
