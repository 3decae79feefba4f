package drain

import (
	_ "embed"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

//go:embed reap.sql
var reapStatement statement

//go:embed recount.sql
var recountStatement statement

// mostReaped bounds one reap, so that no exchange grows with the number of leases that a bad day left behind.
const mostReaped = 1000

// A reaped row had a lease that ran out, or its attempts were spent before.
type reaped struct {
	id     int64
	queue  string
	status string // queued, or failed when its attempts are spent
	text   string
}

// takeReaped books a row once, also where the answer that told of it was lost and it was looked for.
func (w *wake) takeReaped(r reaped) {
	if w.reaped[r.id] {
		return
	}
	w.reaped[r.id] = true
	w.report.Reaped++
	level := slog.LevelWarn
	if r.status == "failed" {
		w.report.FailedForGood++
		level = slog.LevelError
	}
	w.config.Log.Log(w.outer, level, "taken back: its worker was lost, or its attempts were spent",
		"queue", r.queue, "id", r.id, "now", r.status, "last_error", r.text)
}

func (b *batch) reap(run string, only, skip []int64, to *response) {
	b.queue(reapStatement, pgx.StrictNamedArgs{"most": mostReaped, "only": only, "skip": skip, "run": run}).Query(func(rows pgx.Rows) error {
		return to.readReaped(rows)
	})
}

// recount looks for what this run reaped in an exchange whose answer was lost.
func (b *batch) recount(run string, to *response) {
	b.queue(recountStatement, pgx.StrictNamedArgs{"run": run}).Query(func(rows pgx.Rows) error { return to.readReaped(rows) })
}

func (resp *response) readReaped(rows pgx.Rows) error {
	for rows.Next() {
		r := reaped{}
		var status *string
		if err := rows.Scan(&r.id, &r.queue, &status, &r.text); err != nil {
			return err
		}
		if status == nil {
			resp.suppressed = append(resp.suppressed, r.id)
			continue
		}
		r.status = *status
		resp.reaped = append(resp.reaped, r)
	}
	return rows.Err()
}
