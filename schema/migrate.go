package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// Migrate brings the tables in a schema to [Version], and creates the schema where there is none. A
// jobs table of before ebb becomes ebb's, rows and all, if it has the columns id, queue, payload, status, run_at,
// attempts, max_attempts, locked_until, last_error and created_at as ebb would make them (id may be a bigserial). Any
// other table that has one of ebb's names is refused, as is a version newer than Version: with an [ErrRefused] that says
// what differs, and before anything is changed. Adoption holds the table while it checks the rows and builds its
// indexes: some seconds for a million of them.
//
// Each migration is one transaction: it is there or it is not, whatever is killed. Any number of processes may migrate
// at once; one does the work, and a minute is the longest that another waits for it. A lock of someone else's is waited
// for half a second, six times, with pauses in which the others get on with their work; then Migrate gives up, changes
// nothing and names who holds it.
//
// The connection must not be in a transaction. Its session's settings are left as they were. Log may be nil.
func Migrate(ctx context.Context, conn *pgx.Conn, schema string, log *slog.Logger) error {
	if err := ValidName(schema); err != nil {
		return err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return migration{
		conn: conn, schema: schema, log: log,
		patience: time.Minute,
		pauses:   []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second},
	}.run(ctx)
}

// A migration is one call of Migrate.
type migration struct {
	conn   *pgx.Conn
	schema string
	log    *slog.Logger

	patience time.Duration   // with another migration
	pauses   []time.Duration // between tries, when a lock or an object of someone else's was in the way
}

func (m migration) run(ctx context.Context) error {
	all, err := steps(m.schema)
	if err != nil {
		return err
	}
	for {
		var done bool
		err := m.again(ctx, func(ctx context.Context) (err error) {
			done, err = m.step(ctx, all)
			return err
		})
		if err != nil || done {
			return err
		}
	}
}

// begin is the first statement of every transaction. What it sets ends with the transaction.
//
//go:embed begin.sql
var begin string

// step takes the lock, reads the version, and does the next migration, in one transaction. The version is read by a
// statement of its own after the lock was taken: a snapshot from before the lock would show the version from before
// the migration that it waited for.
func (m migration) step(ctx context.Context, all []string) (done bool, err error) {
	tx, err := m.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing

	var locked bool
	var server int
	if err := tx.QueryRow(ctx, begin, pgx.QueryExecModeExec, lockKey(m.schema)).Scan(&locked, &server); err != nil {
		return false, fmt.Errorf("take the migration's lock: %w", err)
	}
	if server < 150000 {
		return false, refuse("the server is Postgres %d: ebb needs 15 or newer", server/10000)
	}
	if !locked {
		return false, errBusy
	}
	version, err := current(ctx, tx, m.schema)
	if err != nil {
		return false, err
	}
	if version > len(all) {
		return false, refuse("schema %s is at version %d, this binary knows %d: use a newer ebb", m.schema, version, len(all))
	}
	if version < 0 {
		return false, refuse("schema %s is at version %d, which there never was: put %s.jobs_version right", m.schema, version, m.schema)
	}
	if version == len(all) {
		m.log.Debug("schema is up to date", "schema", m.schema, "version", version)
		return true, nil
	}
	adopted := false
	if version == 0 {
		if adopted, err = m.prepare(ctx, tx); err != nil {
			return false, err
		}
	}
	next := version + 1
	if err := run(ctx, tx, all[version]+"\n"+record(m.schema, next)); err != nil {
		return false, fmt.Errorf("migrate schema %s to version %d: %w", m.schema, next, err)
	}
	if err := tx.Commit(ctx); err != nil {
		return false, fmt.Errorf("commit version %d of schema %s: %w", next, m.schema, err)
	}
	m.log.Info("schema migrated", "schema", m.schema, "version", next, "adopted", adopted)
	return next == len(all), nil
}

// prepare creates the schema, or looks at what is in it.
func (m migration) prepare(ctx context.Context, tx pgx.Tx) (adopted bool, err error) {
	// Create schema "if not exists" asks for the privilege to create one even where it exists.
	var exists bool
	err = tx.QueryRow(ctx, `select exists (select from pg_catalog.pg_namespace where nspname = $1)`, pgx.QueryExecModeExec, m.schema).Scan(&exists)
	if err != nil {
		return false, fmt.Errorf("look for schema %s: %w", m.schema, err)
	}
	if exists {
		return m.adopt(ctx, tx)
	}
	if err := run(ctx, tx, createSchema(m.schema)); err != nil {
		return false, fmt.Errorf("create schema %s: %w", m.schema, err)
	}
	return false, nil
}

func createSchema(schema string) string {
	return fill("create schema if not exists {{schema}}", schema)
}

// run executes statements without a prepared one between them.
func run(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// errBusy says that another migration of this schema holds the lock.
var errBusy = errors.New("another migration is running")
