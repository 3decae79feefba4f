package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sethvargo/go-retry"
)

// obstacle is what kept one try of a migration from its end.
type obstacle int

const (
	none   obstacle = iota // or nothing that another try would get over
	busy                   // another migration has the lock
	kept                   // another build of an index, a vacuum or a change keeps the table to itself
	locked                 // someone else's lock on a table
	raced                  // someone else changed the same at the same moment
	exists                 // someone else has created the same, now or long ago
)

func classify(err error) obstacle {
	if errors.Is(err, errBusy) {
		return busy
	}
	if errors.Is(err, errKeptOut) {
		return kept
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return none
	}
	switch pg.Code {
	case "55P03": // lock_not_available
		return locked
	case "40P01", "40001": // deadlock_detected, serialization_failure
		return raced
	case "42P06", "42P07", "42701", "42710", "42723": // duplicate schema, table, column, object, function
		return exists
	case "23505": // unique_violation; in the catalog it is a duplicate that was not visible yet
		if pg.SchemaName == "pg_catalog" {
			return exists
		}
	case "XX000": // internal_error
		if strings.Contains(pg.Message, "tuple concurrently") { // updated, deleted
			return raced
		}
	}
	return none
}

// again does a migration's transaction until it is through, or until an obstacle lasted too long.
func (m migration) again(ctx context.Context, try func(context.Context) error) error {
	var (
		start = time.Now()
		err   error  // of the last try
		who   string // was in the way of it
		tries int    // that failed for another reason than busy and kept
		said  string // in the log, who the other migration is
	)
	// Another migration is mostly done in a moment; if not, there is no hurry.
	poll := retry.WithCappedDuration(500*time.Millisecond, retry.NewExponential(20*time.Millisecond))
	backoff := retry.BackoffFunc(func() (time.Duration, bool) {
		if o := classify(err); o == busy || o == kept {
			next, _ := poll.Next()
			return next, time.Since(start) >= m.patience
		}
		if tries++; tries > len(m.pauses) {
			return 0, true
		}
		return m.pauses[tries-1], false
	})
	end := retry.Do(ctx, backoff, func(ctx context.Context) error {
		err = try(ctx)
		switch classify(err) {
		case none:
			return err
		case busy:
			if who = m.whoMigrates(ctx); who != "" && who != said {
				said = who
				m.log.Info("waiting for another migration of this schema", "schema", m.schema, "held_by", who, "at_most", m.patience.String())
			}
		case kept:
			if who = m.whoKeepsOut(ctx); who != "" && who != said {
				said = who
				m.log.Info("waiting to build an index", "schema", m.schema, "held_by", who, "at_most", m.patience.String())
			}
		case locked:
			who = m.whoBlocks(ctx)
			m.log.Info("waiting for a lock", "schema", m.schema, "held_by", who)
		case raced, exists:
			m.log.Debug("someone else is at the same schema", "schema", m.schema, "error", err)
		}
		return retry.RetryableError(err)
	})
	if end == nil {
		return nil
	}
	if ctx.Err() != nil { // go-retry only returns that the context ended
		if err == nil || errors.Is(err, ctx.Err()) {
			return fmt.Errorf("migrate schema %s: %w", m.schema, ctx.Err())
		}
		return fmt.Errorf("migrate schema %s: %w; it was waiting: %w", m.schema, ctx.Err(), m.name(err, who))
	}
	return m.name(err, who)
}

// name adds to the error of the last try who or what was in the way.
func (m migration) name(err error, who string) error {
	if who == "" {
		who = "a session that this role cannot see, or that has ended"
	}
	switch classify(err) {
	case busy:
		return fmt.Errorf("schema %s is being migrated by %s: wait until that has ended, or end it", m.schema, who)
	case kept:
		return fmt.Errorf("an index of schema %s could not be built, kept out by %s: run ebb migrate again when that has ended", m.schema, who)
	case locked:
		return fmt.Errorf("%w: could not get the lock, blocked by %s; this step changed nothing: run ebb migrate again when that has ended", err, who)
	case exists:
		return refuse("%w; this step changed nothing: rename what is there, or set EBB_SCHEMA to another schema", err)
	}
	return explain(err)
}
