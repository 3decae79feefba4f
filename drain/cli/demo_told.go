package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
)

// tell is the day's result.
func (d *demoDay) tell(length time.Duration, awake []time.Duration) string {
	d.mu.Lock()
	ebb, others := time.Duration(0), time.Duration(0)
	end := d.began.Add(length)
	for _, s := range d.awake {
		took := s.within(d.began, end)
		if s.by == "ebb" {
			ebb += took
		} else {
			others += took
		}
	}
	wakes, visits := len(d.runs), len(d.arrivals)
	d.mu.Unlock()
	percent := func(t time.Duration) string { return fmt.Sprintf("%.0f %%", 100*float64(t)/float64(length)) }
	text := fmt.Sprintf("Of %.1f s the database that ebb drains was awake for %.1f s, %s:\n"+
		"%.1f s for %s of ebb, %.1f s for %s.\n"+
		"The one that a worker polls was awake for %.1f s, %s.",
		length.Seconds(), awake[0].Seconds(), percent(awake[0]),
		ebb.Seconds(), plural(wakes, "wake"), others.Seconds(), plural(visits, "visit"),
		awake[1].Seconds(), percent(awake[1]))
	drained, errDrained := demoWait(d.drained)
	polled, errPolled := demoWait(d.polled)
	if errors.Join(errDrained, errPolled) == nil && drained.done > 0 && polled.done > 0 {
		text += fmt.Sprintf("\nThe price: a document waited %.1f s on average, and %.1f s where a worker polls", drained.average, polled.average)
		if drained.left > 0 {
			text += fmt.Sprintf(";\nleft for the next wake: %d", drained.left)
		}
		text += "."
	}
	return text
}

// within is how much of the span lies between two moments.
func (s demoSpan) within(from, to time.Time) time.Duration {
	if s.from.After(from) {
		from = s.from
	}
	if !s.to.IsZero() && s.to.Before(to) {
		to = s.to
	}
	return max(0, to.Sub(from))
}

// A demoWaited is how long the day's documents waited: those after the first twenty-five, which only ebb had.
type demoWaited struct {
	done, left int
	average    float64
}

func demoWait(c *local.Compute) (w demoWaited, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = as(ctx, c, "look", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `
			select pg_catalog.count(*) filter (where started_at is not null), pg_catalog.count(*) filter (where status <> 'done'),
				coalesce(pg_catalog.avg(extract(epoch from started_at - run_at)), 0)::float8
			from ebb.jobs where payload ? 'ms'::text`).Scan(&w.done, &w.left, &w.average)
	})
	return w, err
}
