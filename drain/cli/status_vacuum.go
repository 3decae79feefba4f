package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain/jobs"
	"github.com/seed829e008e/ebb/schedule"
)

// mostSkew is how far the clocks may be apart before it is said.
const mostSkew = 2 * time.Second

// A vacuumJSON is what status says of dead rows, and of what they are kept for.
type vacuumJSON struct {
	DeadRows   *int64      `json:"dead_rows"`   // by the server's statistics; null where it keeps none
	TableBytes *int64      `json:"table_bytes"` // with the indexes
	SeesAll    bool        `json:"sees_all"`    // this role sees all sessions; else the oldest may be another one
	Hidden     int64       `json:"hidden_sessions"`
	Oldest     *holderJSON `json:"oldest_snapshot"` // null: there is none, or none that this role sees
	Change     string      `json:"change"`
}

type holderJSON struct {
	Kind         string     `json:"kind"` // session, standby, replication slot, prepared transaction
	PID          *int32     `json:"pid"`
	Application  string     `json:"application"`
	User         string     `json:"user"`
	State        string     `json:"state"`
	Name         string     `json:"name"` // of the slot or the prepared transaction
	Since        *time.Time `json:"since"`
	Transactions int64      `json:"transactions"` // that began since
}

func vacuumReport(h jobs.Horizon) vacuumJSON {
	r := vacuumJSON{DeadRows: h.Dead, TableBytes: h.Bytes, SeesAll: h.SeesAll, Hidden: h.Hidden}
	var change []string
	if o := h.Holder; o != nil {
		r.Oldest = &holderJSON{Kind: o.Kind, PID: o.PID, Application: o.Application, User: o.User, State: o.State, Name: o.Name,
			Since: inUTC(o.Since), Transactions: o.Transactions}
		change = append(change, letGo(*o))
	}
	if !h.SeesAll {
		change = append(change, "let this role see all sessions: GRANT pg_read_all_stats TO "+pgx.Identifier{h.Role}.Sanitize())
	}
	r.Change = strings.Join(change, "; ")
	return r
}

// letGo says what ends what holds dead rows.
func letGo(o jobs.Holder) string {
	literal := "'" + strings.ReplaceAll(printable(o.Name), "'", "''") + "'"
	switch {
	case o.Kind == "replication slot":
		return "if nobody reads from it any more: SELECT pg_drop_replication_slot(" + literal + ")"
	case o.Kind == "prepared transaction":
		return "COMMIT PREPARED " + literal + " or ROLLBACK PREPARED " + literal
	case o.Kind == "standby":
		return "end the standby, or turn its hot_standby_feedback off"
	case o.PID == nil:
		return "find out what it is"
	case strings.HasPrefix(o.State, "idle in transaction"):
		return fmt.Sprintf("commit or roll back there, or SELECT pg_terminate_backend(%d); idle_in_transaction_session_timeout ends those that forget to", *o.PID)
	}
	return fmt.Sprintf("let it end, or SELECT pg_cancel_backend(%d)", *o.PID)
}

func (r vacuumJSON) print(out io.Writer, at time.Time) {
	dead, size := "unknown", "of unknown size"
	if r.DeadRows != nil {
		dead = fmt.Sprint(*r.DeadRows)
	}
	if r.TableBytes != nil {
		size = fmt.Sprintf("%.1f MB", float64(*r.TableBytes)/(1<<20))
	}
	fmt.Fprintf(out, "dead rows: %s by the server's statistics; the table is %s with its indexes\n", dead, size)
	switch o := r.Oldest; {
	case o == nil && r.SeesAll:
		fmt.Fprintln(out, "oldest snapshot: none, vacuum may remove them all")
		return
	case o == nil:
		fmt.Fprintf(out, "oldest snapshot: unknown, %s hidden from this role\n", plural(r.Hidden, "session"))
	default:
		fmt.Fprintf(out, "oldest snapshot: %s; vacuum keeps what died since\n", o.words(at))
		if !r.SeesAll {
			fmt.Fprintf(out, "                 or an older one, unknown: %s hidden from this role\n", plural(r.Hidden, "session"))
		}
	}
	fmt.Fprintf(out, "what to do: %s\n", r.Change)
}

// words say who it is.
func (o holderJSON) words(at time.Time) string {
	var parts []string
	for _, part := range [][2]string{{"application ", o.Application}, {"user ", o.User}, {"", o.State}} {
		if part[1] != "" {
			parts = append(parts, part[0]+printable(part[1]))
		}
	}
	if o.Since != nil {
		parts = append(parts, fmt.Sprintf("since %s, %s", o.Since.Format(time.RFC3339), schedule.Length(max(0, at.Sub(*o.Since)))))
	}
	parts = append(parts, plural(o.Transactions, "transaction")+" ago")
	who := o.Kind
	switch {
	case o.Name != "":
		who += " " + printable(o.Name)
	case o.PID != nil:
		who = fmt.Sprintf("pid %d", *o.PID)
	}
	return who + " (" + strings.Join(parts, ", ") + ")"
}

// skewed says how far this machine's clock is from the database's.
func skewed(seconds float64) string {
	how := "behind"
	if seconds < 0 {
		how, seconds = "ahead of", -seconds
	}
	return fmt.Sprintf("this machine's is %s %s the database's; jobs and leases go by the database's, and so do the times here",
		schedule.Length(time.Duration(seconds*float64(time.Second)).Round(time.Second)), how)
}
