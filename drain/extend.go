package drain

import (
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed extend.sql
var extendStatement statement

// A holding is a lease to be extended.
type holding struct {
	id      int64
	attempt int
	lease   time.Duration // from now
}

// A standing is the answer to an extension of one job.
type standing int

const (
	extended standing = iota + 1
	locked            // somebody else has the row locked: ask again
	done              // completed by this attempt, in the handler's own transaction
	gone              // another run's, or settled by a hand: the handler has nothing to say any more
)

func (b *batch) extend(run string, holdings []holding, to *map[int64]standing) {
	n := len(holdings)
	ids, attempts, leases := make([]int64, n), make([]int, n), make([]int64, n)
	for i, h := range holdings {
		ids[i], attempts[i], leases[i] = h.id, h.attempt, h.lease.Microseconds()
	}
	b.queue(extendStatement, pgx.StrictNamedArgs{"run": run, "ids": ids, "attempts": attempts, "leases": leases}).
		Query(func(rows pgx.Rows) error {
			*to = make(map[int64]standing, n)
			for rows.Next() {
				var id int64
				if err := rows.Scan(&id); err != nil {
					return err
				}
				(*to)[id] = extended
			}
			return rows.Err()
		})
}

// stands says how a lease stands that an exchange did not extend.
func (h holding) stands(r row, run string) standing {
	ours := r.lockedBy == run && r.attempts == h.attempt
	switch {
	case ours && r.status == "running":
		return locked
	case ours && r.status == "done":
		return done
	}
	return gone
}
