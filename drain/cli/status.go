package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/drain/jobs"
)

const lastRuns = 5

func (p *program) statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show what is in the queues, and the last runs",
		Long: `Show how many jobs of each queue are due, scheduled for later, running, expired (running under a lease that ran out),
done and failed, how long the oldest due job has been waiting, and the last runs. Due jobs in queues without a handler
are pointed out where the environment configures any handlers.

Show what makes a queue slow and its table large, too: how many dead rows there are, and who has the oldest snapshot, for
which vacuum has to keep them; and how far this machine's clock is from the database's, where that is over two seconds.`,
		Args: noArguments,
	}
	by := settingFlags(c)
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		config, database, handled, err := p.settings(*by, nil, true)
		if err != nil {
			return err
		}
		return p.withConnection(c.Context(), config, database, func(conn *pgx.Conn, _ *slog.Logger) error {
			s, err := jobs.Look(c.Context(), conn, config.Schema, lastRuns)
			if err != nil {
				return notMigrated(c.Context(), conn, config.Schema, err)
			}
			if err := checkVersion(config.Schema, s.Version, s.Oldest, nil); err != nil {
				return err
			}
			for i := range s.Runs {
				s.Runs[i].Error = p.secrets.Redact(s.Runs[i].Error)
			}
			r := statusReport(config.Schema, s, handled)
			if *asJSON {
				return printJSON(p.stdout, r)
			}
			return r.print(p.stdout)
		})
	}
	return c
}

// A statusJSON is what status --json prints.
type statusJSON struct {
	Schema    string      `json:"schema"`
	Version   int         `json:"version"`
	At        time.Time   `json:"at"`
	Queues    []queueJSON `json:"queues"`
	More      int         `json:"more_queues"` // that are left out
	Unhandled []string    `json:"unhandled"`   // queues with due jobs and no handler in this environment, where it has any
	Runs      []runJSON   `json:"runs"`
	Vacuum    vacuumJSON  `json:"vacuum"`
	SkewS     float64     `json:"clock_skew_seconds"` // the database's clock is ahead of this machine's; 0 where that is not certain
}

type queueJSON struct {
	Queue     string   `json:"queue"`
	Handled   *bool    `json:"handled"` // null where the environment has no handlers at all
	Due       int64    `json:"due"`
	Scheduled int64    `json:"scheduled"`
	Running   int64    `json:"running"`
	Expired   int64    `json:"expired"`
	Done      int64    `json:"done"`
	Failed    int64    `json:"failed"`
	OldestAt  *string  `json:"oldest_due_at"`      // "-infinity" is a time too
	OldestS   *float64 `json:"oldest_due_seconds"` // null where nothing is due, or where it is unbounded
}

type runJSON struct {
	Run        string     `json:"run"`
	Host       string     `json:"host"`
	Version    string     `json:"version"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Stopped    string     `json:"stopped"`
	Error      string     `json:"error"`
	Claimed    int64      `json:"claimed"`
	Done       int64      `json:"done"`
	Retried    int64      `json:"retried"`
	Failed     int64      `json:"failed"`
	Released   int64      `json:"released"`
	Lost       int64      `json:"lost"`
	Abandoned  int64      `json:"abandoned"`
	Reaped     int64      `json:"reaped"`
	RunMS      *int64     `json:"run_ms"`
}

// statusReport puts together what the database and the environment say. Queues that are configured are in it even if
// there are no jobs.
func statusReport(schema string, s jobs.Status, handled []queue) statusJSON {
	r := statusJSON{Schema: schema, Version: s.Version, At: s.At.UTC(), More: s.More, Queues: []queueJSON{}, Unhandled: []string{}, Runs: []runJSON{}}
	has := func(name string) bool {
		return slices.ContainsFunc(handled, func(q queue) bool { return q.Name == name })
	}
	for _, q := range handled {
		if !slices.ContainsFunc(s.Queues, func(has jobs.Queue) bool { return has.Name == q.Name }) {
			s.Queues = append(s.Queues, jobs.Queue{Name: q.Name})
		}
	}
	slices.SortFunc(s.Queues, func(a, b jobs.Queue) int { return strings.Compare(a.Name, b.Name) })
	for _, q := range s.Queues {
		row := queueJSON{Queue: q.Name, Due: q.Due, Scheduled: q.Scheduled, Running: q.Running, Expired: q.Expired,
			Done: q.Done, Failed: q.Failed, OldestAt: q.OldestDueAt}
		if q.OldestDue != nil {
			seconds := q.OldestDue.Round(time.Millisecond).Seconds()
			row.OldestS = &seconds
		}
		if len(handled) > 0 {
			is := has(q.Name)
			row.Handled = &is
			if !is && q.Due > 0 {
				r.Unhandled = append(r.Unhandled, q.Name)
			}
		}
		r.Queues = append(r.Queues, row)
	}
	for _, run := range s.Runs {
		row := runJSON{Run: run.ID, Host: run.Host, Version: run.Version, StartedAt: run.StartedAt.UTC(), Stopped: run.Stopped,
			Error: run.Error, Claimed: run.Claimed, Done: run.Done, Retried: run.Retried, Failed: run.Failed,
			Released: run.Released, Lost: run.Lost, Abandoned: run.Abandoned, Reaped: run.Reaped}
		if run.FinishedAt != nil {
			at := run.FinishedAt.UTC()
			row.FinishedAt = &at
		}
		if run.Took != nil {
			ms := run.Took.Milliseconds()
			row.RunMS = &ms
		}
		r.Runs = append(r.Runs, row)
	}
	r.Vacuum = vacuumReport(s.Horizon)
	r.SkewS = s.Skew.Over(mostSkew).Round(time.Second / 10).Seconds()
	return r
}

func (r statusJSON) print(out io.Writer) error {
	if len(r.Queues) == 0 {
		fmt.Fprintf(out, "no jobs in schema %s\n", r.Schema)
	} else {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "QUEUE\tDUE\tSCHEDULED\tRUNNING\tEXPIRED\tDONE\tFAILED\tOLDEST DUE")
		for _, q := range r.Queues {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", printable(q.Queue), q.Due, q.Scheduled, q.Running, q.Expired, q.Done, q.Failed, q.oldest())
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if r.More > 0 {
		fmt.Fprintf(out, "and %d more queues; those above have been there longest\n", r.More)
	}
	for i, name := range r.Unhandled {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "due jobs, but no handler in this environment: %s\n", printable(name))
	}
	fmt.Fprintln(out)
	r.Vacuum.print(out, r.At)
	if r.SkewS != 0 {
		fmt.Fprintf(out, "clock: %s\n", skewed(r.SkewS))
	}
	if len(r.Runs) == 0 {
		_, err := fmt.Fprintln(out, "\nno runs yet")
		return err
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LAST RUNS\tTOOK\tSTOPPED\tCLAIMED\tDONE\tRETRIED\tFAILED\tERROR")
	for _, run := range r.Runs {
		took := "-"
		if run.RunMS != nil {
			took = (time.Duration(*run.RunMS) * time.Millisecond).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", run.StartedAt.Format(time.RFC3339), took, run.Stopped,
			run.Claimed, run.Done, run.Retried, run.Failed, printable(run.Error))
	}
	return w.Flush()
}

// oldest is how long the oldest due job has been waiting, in words.
func (q queueJSON) oldest() string {
	switch {
	case q.OldestS != nil:
		d := time.Duration(*q.OldestS * float64(time.Second))
		if d < time.Minute {
			return d.Round(time.Second / 10).String()
		}
		return d.Round(time.Second).String()
	case q.OldestAt != nil:
		return "unbounded"
	}
	return "-"
}

// printable keeps a name from the database from breaking the table, or the terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, isControl) || text == "" {
		return strings.Trim(fmt.Sprintf("%q", text), `"`)
	}
	return text
}
