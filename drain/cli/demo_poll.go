package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// pollStatement is what a worker that polls sends, whether there is anything to do or not. Whether it does the jobs well
// is not the question here, so it calls them done at once.
const pollStatement = `
update ebb.jobs set status = 'done', attempts = attempts + 1, started_at = pg_catalog.now(), finished_at = pg_catalog.now()
where id in (select id from ebb.jobs where status = 'queued' and run_at <= pg_catalog.now() order by run_at, id limit 10
	for update skip locked)`

// pollEvery is a second in a day that is some hundred times as fast.
const pollEvery = 250 * time.Millisecond

func (d *demoDay) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		connected := false
		err := as(ctx, d.polled, "worker", func(conn *pgx.Conn) error {
			connected = true
			for {
				if _, err := conn.Exec(ctx, pollStatement); err != nil {
					return err
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return nil
				}
			}
		})
		if err != nil && !connected && ctx.Err() == nil { // what it loses it opens again, as such workers do
			d.mu.Lock()
			d.fail(fmt.Errorf("the worker that polls: %w", err))
			d.mu.Unlock()
			return
		}
	}
}
