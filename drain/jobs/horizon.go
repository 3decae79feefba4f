package jobs

import (
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed horizon.sql
var horizonStatement string

// A Horizon is what keeps vacuum from removing dead rows, which make a queue slow and its table large.
type Horizon struct {
	// Dead is how many dead rows the table of jobs has, by the server's statistics; nil where it keeps none. A compute
	// that forgets its statistics in a pause counts from there.
	Dead *int64
	// Bytes is the size of the table with its indexes; nil where there is no table.
	Bytes *int64
	// Role is who looked; SeesAll says whether it sees all sessions, and Hidden how many it does not see.
	Role    string
	SeesAll bool
	Hidden  int64
	// Holder is who has the oldest snapshot, of those that are seen; nil where nobody has one.
	Holder *Holder
}

// A Holder has a snapshot, or a transaction, that dead rows are kept for.
type Holder struct {
	Kind                           string // session, standby, replication slot or prepared transaction
	PID                            *int32 // nil where there is no process
	Application, User, State, Name string
	Since                          *time.Time // nil where the server does not know it
	Transactions                   int64      // that began since
}

func scanHorizon(row pgx.Row) (Horizon, error) {
	var h Horizon
	var kind *string
	var xids *int64
	var o Holder
	err := row.Scan(&h.Dead, &h.Bytes, &h.Role, &h.SeesAll, &h.Hidden, &kind, &o.PID, &o.Application, &o.User, &o.State, &o.Name, &o.Since, &xids)
	if kind != nil && xids != nil {
		o.Kind, o.Transactions = *kind, *xids
		h.Holder = &o
	}
	return h, err
}
