package schema

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// MigrateWithin is Migrate with less patience.
func MigrateWithin(ctx context.Context, conn *pgx.Conn, schema string, log *slog.Logger, patience time.Duration) error {
	return migration{
		conn: conn, schema: schema, log: log, small: 8 << 20, patience: patience,
		pauses: []time.Duration{patience / 10, patience / 10},
	}.run(ctx)
}

// LockKey is the key of the lock that a migration of a schema holds.
func LockKey(schema string) int64 { return lockKey(schema) }

// MigrateLarge is MigrateWithin for which every table that is there is a large one.
func MigrateLarge(ctx context.Context, conn *pgx.Conn, schema string, log *slog.Logger, patience time.Duration) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return migration{
		conn: conn, schema: schema, log: log, small: -1, patience: patience,
		pauses: []time.Duration{patience / 10, patience / 10},
	}.run(ctx)
}
