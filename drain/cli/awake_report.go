package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/seed829e008e/ebb/schedule"
	"github.com/seed829e008e/ebb/schedule/awake"
)

// An awakeJSON is what awake --json prints.
type awakeJSON struct {
	At              time.Time         `json:"at"`
	AwakeSince      time.Time         `json:"awake_since"` // the server's start
	Compute         string            `json:"compute"`     // the preset, where one is named
	Family          string            `json:"family"`      // activity, connections, or unknown
	Encryption      encryption        `json:"encryption"`  // none, unverified, verified-ca, verified, or local
	IdleTimeoutS    float64           `json:"idle_timeout_seconds"`
	IdleTimeoutFrom origin            `json:"idle_timeout_from"`
	SeesAll         bool              `json:"sees_all"`
	Asking          string            `json:"asking"`         // what asking did: woke or prolonged
	LastActiveAt    *time.Time        `json:"last_active_at"` // of those who are still there; null where nobody is
	CouldPauseAt    *time.Time        `json:"could_pause_at"` // null: not until the sessions below end
	Certain         bool              `json:"certain"`
	WatchedS        *float64          `json:"watched_seconds"`
	Paused          bool              `json:"paused_while_watched"`
	Reasons         []awakeReasonJSON `json:"reasons"`
}

type awakeReasonJSON struct {
	Kind         awake.Kind `json:"kind"`
	Holds        *bool      `json:"holds"` // null: not known
	PIDs         []int      `json:"pids"`
	Application  string     `json:"application"`
	User         string     `json:"user"`
	Address      string     `json:"address"`
	Database     string     `json:"database"`
	Since        *time.Time `json:"since"`
	LastActiveAt *time.Time `json:"last_active_at"` // by the rules of the compute
	What         string     `json:"what"`
	Change       string     `json:"change"`
}

func awakeReport(s awake.Snapshot, c Config) awakeJSON {
	compute, timeoutFrom, _ := computeOf(c)
	v := s.Verdict(compute)
	r := awakeJSON{At: s.At.UTC(), AwakeSince: s.Start.UTC(), Compute: compute.Name, Family: string(compute.Family),
		IdleTimeoutS: compute.IdleTimeout.Seconds(), IdleTimeoutFrom: timeoutFrom, SeesAll: s.SeesAll, Asking: "prolonged",
		LastActiveAt: inUTC(v.LastActive), CouldPauseAt: inUTC(v.CouldPauseAt), Certain: v.Certain, Paused: v.Paused,
		Reasons: []awakeReasonJSON{}}
	if r.Family == "" {
		r.Family = "unknown"
	}
	if v.Woken {
		r.Asking = "woke"
	}
	if s.Before != nil {
		apart := s.At.Sub(s.Before.At).Seconds()
		r.WatchedS = &apart
	}
	for _, x := range v.Reasons {
		row := awakeReasonJSON{Kind: x.Kind, Holds: x.Holds, PIDs: x.PIDs, Application: x.Application, User: x.User, Address: x.Address,
			Database: x.Database, Since: inUTC(x.Since), LastActiveAt: inUTC(x.LastActive), What: x.What, Change: x.Change}
		if row.PIDs == nil {
			row.PIDs = []int{}
		}
		r.Reasons = append(r.Reasons, row)
	}
	return r
}

func inUTC(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	utc := at.UTC()
	return &utc
}

func (r awakeJSON) printJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r awakeJSON) print(out io.Writer) error {
	timeout := time.Duration(r.IdleTimeoutS * float64(time.Second))
	in := schedule.Length(timeout)
	counts := map[string]string{"activity": "counts activity", "connections": "counts connections",
		"unknown": "not named (--compute): what only some of them count is a maybe"}[r.Family]
	name := ""
	if r.Compute != "" {
		name = r.Compute + ", "
	}
	fmt.Fprintf(out, "compute:    %s%s; idle timeout %s (%s)\n", name, counts, in, r.IdleTimeoutFrom)
	fmt.Fprintf(out, "awake:      since %s (%s), asked at %s\n", second(r.AwakeSince), schedule.Length(r.At.Sub(r.AwakeSince)), second(r.At))
	if r.Encryption != "" {
		fmt.Fprintf(out, "connection: %s\n", r.Encryption)
	}
	switch {
	case r.CouldPauseAt == nil:
		fmt.Fprintln(out, "could pause: not before what holds it awake is gone")
	case r.Certain:
		fmt.Fprintf(out, "could pause: at %s at the earliest, if nobody comes\n", second(*r.CouldPauseAt))
	default:
		fmt.Fprintf(out, "could pause: at %s at the earliest, if nobody comes and no maybe below holds it awake\n", second(*r.CouldPauseAt))
	}
	switch {
	case r.Asking == "woke":
		fmt.Fprintln(out, "asking:     woke it")
	case r.CouldPauseAt != nil:
		before := "; when it was active before is not known, for who has gone left no trace"
		if r.LastActiveAt != nil {
			before = fmt.Sprintf("; those who are still there were last active at %s, and who has gone left no trace", second(*r.LastActiveAt))
		}
		fmt.Fprintf(out, "asking:     prolonged it%s\n", before)
	default:
		fmt.Fprintln(out, "asking:     was activity too, and restarted the idle timeout")
	}
	if r.WatchedS != nil {
		watched := schedule.Length(time.Duration(*r.WatchedS * float64(time.Second)))
		if r.Paused {
			watched += "; it paused meanwhile (or restarted), so nothing held it awake all the time"
		}
		fmt.Fprintf(out, "watched:    for %s\n", watched)
	}
	fmt.Fprintln(out)
	if len(r.Reasons) == 0 {
		_, err := fmt.Fprintln(out, "nobody else is there")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HOLDS IT AWAKE\tWHAT")
	for _, x := range r.Reasons {
		pids := ""
		for i, pid := range x.PIDs {
			if i == 10 {
				pids += " ..."
				break
			}
			pids += fmt.Sprintf(" %d", pid)
		}
		if pids != "" {
			pids = ", pid" + pids
		}
		fmt.Fprintf(w, "%s\t%s%s\n\t-> %s\n", yesNoMaybe(x.Holds), printable(x.What), pids, printable(x.Change))
	}
	return w.Flush()
}

func second(at time.Time) string { return at.Format(time.RFC3339) }

func yesNoMaybe(holds *bool) string {
	switch {
	case holds == nil:
		return "maybe"
	case *holds:
		return "yes"
	}
	return "no"
}
