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
		conn: conn, schema: schema, log: log, patience: patience,
		pauses: []time.Duration{patience / 10, patience / 10},
	}.run(ctx)
}

// LockKey is the key of the lock that a migration of a schema holds.
func LockKey(schema string) int64 { return lockKey(schema) }
