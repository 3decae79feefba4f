package drain

import (
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed reap.sql
var reapStatement statement

//go:embed strays.sql
var straysStatement statement

// mostReaped bounds one reap, so that no exchange grows with the number of leases that a bad day left behind.
const mostReaped = 1000

// A reaped row had a lease that ran out.
type reaped struct {
	id       int64
	queue    string
	attempts int
	status   string // queued, or failed when its attempts are spent
	text     string
}

func (b *batch) reap(only, skip []int64, to *[]reaped) {
	b.queue(reapStatement, pgx.StrictNamedArgs{"most": mostReaped, "only": only, "skip": skip}).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var r reaped
			if err := rows.Scan(&r.id, &r.queue, &r.attempts, &r.status, &r.text); err != nil {
				return err
			}
			*to = append(*to, r)
		}
		return rows.Err()
	})
}

// strays gives back claims of this run that it never heard of.
func (b *batch) strays(run string, inHand []int64, to *[]int64) {
	b.queue(straysStatement, pgx.StrictNamedArgs{"run": run, "in_hand": append([]int64{}, inHand...)}).
		Query(func(rows pgx.Rows) (err error) {
			*to, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
}
