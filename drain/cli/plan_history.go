package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain/jobs"
)

// mostHistory is how many runs are looked at: a month of one every five minutes.
const mostHistory = 10_000

// A ranFor is how long real runs took, once they were connected.
type ranFor struct {
	runs          int
	mean, longest time.Duration
}

// readHistory puts in the place of the assumed run time what runs really took, and compares when they began. The time
// until they were connected is left out: it is mostly the resume, which is counted by itself.
func (p *program) readHistory(ctx context.Context, c Config, database source, pl *plan) error {
	return p.withConnection(ctx, c, database, func(conn *pgx.Conn, _ *slog.Logger) error {
		runs, version, oldest, err := jobs.History(ctx, conn, c.Schema, mostHistory)
		if err != nil {
			return notMigrated(ctx, conn, c.Schema, err)
		}
		if err := checkVersion(c.Schema, version, oldest, nil); err != nil {
			return err
		}
		var starts []time.Time
		var took ranFor
		for _, r := range runs {
			starts = append(starts, r.StartedAt)
			if r.Took == nil {
				continue
			}
			d := *r.Took
			if r.Connect != nil {
				d = max(0, d-*r.Connect)
			}
			took.runs++
			took.mean += d
			took.longest = max(took.longest, d)
		}
		if took.runs > 0 {
			took.mean /= time.Duration(took.runs)
			pl.historyRun = &took
			if pl.runFrom == assumed {
				pl.run, pl.runFrom = took.mean.Round(time.Millisecond), history
			}
		}
		expected := pl.set
		if len(pl.current) > 0 {
			expected = pl.current
		}
		h := expected.Compare(starts)
		pl.history = &h
		return nil
	})
}
