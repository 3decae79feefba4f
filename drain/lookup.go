package drain

import (
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed lookup.sql
var lookupStatement statement

// A row is how a job stands in the table; the zero row is one that is not there.
type row struct {
	status   string
	attempts int
	lockedBy string
	lost     int
}

func (b *batch) lookup(ids []int64, to *map[int64]row) {
	b.queue(lookupStatement, pgx.StrictNamedArgs{"ids": ids}).Query(func(rows pgx.Rows) error {
		*to = make(map[int64]row, len(ids))
		for rows.Next() {
			var id int64
			var r row
			if err := rows.Scan(&id, &r.status, &r.attempts, &r.lockedBy, &r.lost); err != nil {
				return err
			}
			(*to)[id] = r
		}
		return rows.Err()
	})
}
