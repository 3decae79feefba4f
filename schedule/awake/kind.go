package awake

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schedule"
)

// A Kind is a way to keep a database awake, or to be suspected of it.
type Kind string

// The kinds, the worst first among those that do as much harm.
const (
	InTransaction Kind = "idle in transaction"
	Walsender     Kind = "walsender"
	Subscription  Kind = "subscription"
	Active        Kind = "active"
	Autovacuum    Kind = "autovacuum"
	Listening     Kind = "listening"
	Polling       Kind = "polling" // a session that worked while it was watched
	Opening       Kind = "opening" // sessions that were opened while it was watched
	Working       Kind = "working" // somebody worked while it was watched, nobody saw who
	Unknown       Kind = "unknown" // what this role may not see
	Cron          Kind = "pg_cron" // installed; its jobs run while the database is awake
	Idle          Kind = "idle"    // and nothing else
)

var worst = []Kind{InTransaction, Walsender, Subscription, Active, Autovacuum, Polling, Opening, Working, Unknown, Cron, Listening, Idle}

// vendors are users of whom vendors say, or show in their code, that they do not count them.
var vendors = []string{"cloud_admin", "rdsadmin", "streaming_replica"}

// kind is what a session is; empty where it never counts.
func (s Session) kind() Kind {
	switch {
	case slices.Contains(vendors, s.User):
		return ""
	case s.Type == nil:
		return Unknown
	case *s.Type == "autovacuum worker":
		return Autovacuum
	case *s.Type == "walsender":
		if s.Application == "walproposer" { // Neon's own
			return ""
		}
		return Walsender
	case s.State == nil:
		return Unknown
	case *s.State == "idle" && s.Listens:
		return Listening
	case *s.State == "idle":
		return Idle
	case *s.State == "idle in transaction" || *s.State == "idle in transaction (aborted)":
		return InTransaction
	}
	return Active
}

// holds says whether a kind that is there keeps a compute of a family awake for as long as it stays; nil where that
// cannot be told.
func (k Kind) holds(family schedule.Family) *bool {
	yes, no := true, false
	switch k {
	case Active, InTransaction, Walsender:
		return &yes // in both families
	case Idle, Listening:
		switch family {
		case schedule.Connections:
			return &yes
		case schedule.Activity:
			return &no
		}
	case Autovacuum:
		switch family {
		case schedule.Connections:
			return &no
		case schedule.Activity:
			return &yes
		}
	case Subscription:
		if family == schedule.Activity {
			return &yes
		}
	}
	return nil
}

// change says what to do about a kind.
func (k Kind) change(family schedule.Family, timeout time.Duration, role string) string {
	in := schedule.Length(timeout)
	switch k {
	case InTransaction:
		return "commit or roll back; idle_in_transaction_session_timeout ends those that forget to"
	case Walsender:
		return "end the replica or subscriber that receives from here, or let it connect only now and then"
	case Subscription:
		return "ALTER SUBSCRIPTION ... DISABLE while it is not needed"
	case Active:
		return "let it end; a statement that never should have run so long ends with statement_timeout, or now with pg_terminate_backend"
	case Autovacuum:
		return "it ends by itself; where it comes too often, vacuum within scheduled runs"
	case Listening:
		if family == schedule.Activity {
			return "nothing, but a pause ends the session: what is notified after that is lost, so look into the tables in scheduled runs"
		}
		return "do not LISTEN all day: look into the tables in scheduled runs"
	case Polling, Working:
		return fmt.Sprintf("ask less often than every %s, all who ask taken together, or in scheduled runs; ebb plan weighs them", in)
	case Opening:
		return "find out who connects (health checks, pools that reconnect, dashboards; log_connections names them) and let it happen in scheduled runs"
	case Unknown:
		return fmt.Sprintf("let this role see it: GRANT pg_read_all_stats TO %s", pgx.Identifier{role}.Sanitize())
	case Cron:
		return "look into cron.job, and move what runs often to a scheduler outside: it runs only while the database is awake, and prolongs that"
	}
	if family == schedule.Activity {
		return "nothing; a pause ends the session"
	}
	return fmt.Sprintf("let the pool close idle connections well before %s, with a minimum of 0", in)
}
