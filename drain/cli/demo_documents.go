package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
	"github.com/seed829e008e/ebb/schema"
)

const (
	demoQueue     = "documents"
	demoDocuments = 25
	demoShown     = 3 // documents of which the checksum is printed
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

// demoDocuments is the demo's first part: twenty-five documents, from the tables to the summary.
func (p *program) demoDocuments(ctx context.Context, compute *local.Compute) (drain.Report, error) {
	p.say("\n$ ebb migrate\nschema %s is at version %d", defaultSchema, schema.Version)
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
	err := as(ctx, compute, "enqueue", func(conn *pgx.Conn) error {
		inserted, err := drain.EnqueueMany(ctx, conn, defaultSchema, jobs)
		if err == nil {
			p.say("%d inserted: two that will be jammed in the scanner, and a blank one", inserted)
		}
		return err
	})
	if err != nil {
		return drain.Report{}, err
	}
	p.say("\n$ EBB_BACKOFF=1s EBB_LINGER=20s ebb run --queue %s -- sh -c \"$scan\"", demoQueue)
	report, err := drain.Run(ctx, p.demoRun(compute))
	if err == nil && ctx.Err() == nil && isTerminal(p.stdout) {
		io.WriteString(p.stdout, summaryText(report))
	}
	return report, err
}

func (p *program) demoRun(compute *local.Compute) drain.Config {
	config := drain.Config{
		Database: urlOf(compute, "ebb"), MaxRuntime: time.Minute,
		Backoff: time.Second, Linger: 20 * time.Second, // so that retries happen in the same run
		Started: time.Now(), Version: Version(),
	}
	env, _ := command.Environ(p.environ, nil)
	shown := 0
	script := command.Command{
		Args: []string{"sh", "-c", demoScript}, Env: env, KillAfter: config.KillAfter(), Running: p.running,
		Log: slog.New(&echo{out: p.stdout, line: func(r echoed) string {
			if r.stream == "stderr" {
				return "" // it is in the error
			}
			switch shown++; {
			case shown <= demoShown:
				return fmt.Sprintf("  job %-2d  checksum and bytes: %s", r.id, r.text)
			case shown == demoShown+1:
				return "  ..."
			}
			return ""
		}}),
	}
	config.Queues = []drain.Queue{{Name: demoQueue, Handler: func(ctx context.Context, job drain.Job) error {
		err := script.Handle(ctx, job)
		if err != nil {
			p.say("  job %-2d  attempt %d: %v", job.ID, job.Attempt, err)
		}
		return err
	}}}
	return config
}
