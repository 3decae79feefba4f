package drain

import (
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed orphans.sql
var orphansStatement statement

//go:embed orphan_ids.sql
var orphanIDsStatement statement

// orphans gives back claims of this run that it never heard of: their answer was lost, so none of them was started.
func (b *batch) orphans(run string, inFlight, only []int64, to *response) {
	b.queue(orphansStatement, pgx.StrictNamedArgs{"run": run, "in_flight": ids(inFlight), "only": only}).Query(func(rows pgx.Rows) error {
		return to.readChanged(rows, func(id int64) { to.orphans = append(to.orphans, id) })
	})
}

// orphanIDs tells which ones there are.
func (b *batch) orphanIDs(run string, inFlight []int64, to *response) {
	b.queue(orphanIDsStatement, pgx.StrictNamedArgs{"run": run, "in_flight": ids(inFlight)}).Query(func(rows pgx.Rows) (err error) {
		to.orphanIDs, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
}

// readChanged reads ids and whether their rows were changed. One that was chosen and not changed was kept from it by a
// trigger.
func (resp *response) readChanged(rows pgx.Rows, changed func(id int64)) error {
	for rows.Next() {
		var id int64
		var is bool
		if err := rows.Scan(&id, &is); err != nil {
			return err
		}
		if is {
			changed(id)
		} else {
			resp.suppressed = append(resp.suppressed, id)
		}
	}
	return rows.Err()
}
