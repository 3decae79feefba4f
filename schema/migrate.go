package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Migrate brings the tables in a schema to [Version], and creates the schema where there is none. A
// jobs table of before ebb becomes ebb's, rows and all, if it has the columns id, queue, payload, status, run_at,
// attempts, max_attempts, locked_until, last_error and created_at as ebb would make them (id may be a bigserial), and if it
// belongs to this role. Any other table that has one of these names is refused, as is a version newer than Version: with an [ErrRefused] that says
// what differs, and before anything is changed. An index that is missing or invalid is built anew.
//
// Each migration is one transaction: it is there or it is not, whatever is killed. So is the adoption of a table of up to
// 8 MB, which nobody else can use for that moment. A larger one is adopted in several transactions, each of which holds
// it for a moment only, and its indexes are built between them, concurrently. Stopped or killed there, Migrate leaves a
// table with ebb's columns, a check called ebb_adopting and perhaps an invalid index, with which those who use the table
// can go on; the next Migrate goes on from there. Jobs that come to have the same unique_key meanwhile are refused then.
//
// Any number of processes may migrate at once; one does the work, and another waits for it for about a minute at most. A
// lock of someone else's is waited for half a second, six times, with pauses in which the others get on with their work.
// While an index is built, a second connection, made as conn was, looks whether that waits for transactions that are
// older, which it may for a minute. Where a build cannot be looked at, it may take a minute and a second for each megabyte
// of the table. After that Migrate gives up and names who is in the way; the step that it was at changed nothing, or left
// an invalid index.
//
// The connection must not be in a transaction. Its session's settings are left as they were. It is closed where a build
// can be ended in no other way. Log may be nil.
func Migrate(ctx context.Context, conn *pgx.Conn, schema string, log *slog.Logger) error {
	return MigrateFrom(ctx, conn, schema, "", log)
}

// MigrateFrom is [Migrate] that adopts a jobs table of this other owner, too.
func MigrateFrom(ctx context.Context, conn *pgx.Conn, schema, owner string, log *slog.Logger) error {
	if err := ValidName(schema); err != nil {
		return err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return migration{
		conn: conn, schema: schema, owner: owner, log: log,
		small: 8 << 20, patience: time.Minute,
		pauses: []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second},
	}.run(ctx)
}

// A migration is one call of Migrate.
type migration struct {
	conn   *pgx.Conn
	schema string
	owner  string // of a jobs table that may be adopted, beside this role
	log    *slog.Logger

	small    int64           // the most bytes of a table that is adopted in one transaction
	patience time.Duration   // with another migration, and with those for whom a build waits
	pauses   []time.Duration // between tries, when a lock or an object of someone else's was in the way
}

func (m migration) run(ctx context.Context) error {
	all, err := steps(m.schema)
	if err != nil {
		return err
	}
	if err := m.again(ctx, m.trusts); err != nil {
		return err
	}
	for {
		var then next
		err := m.again(ctx, func(ctx context.Context) (err error) {
			then, err = m.step(ctx, all)
			return err
		})
		switch {
		case err != nil || then == finished:
			return err
		case then == indexes:
			if err := m.again(ctx, m.build); err != nil {
				return err
			}
		}
	}
}

// trustedPath is asked before anything else, since all that Migrate does runs as a role that may do much.
//
//go:embed path.sql
var trustedPath string

func (m migration) trusts(ctx context.Context) error {
	err := m.conn.QueryRow(ctx, trustedPath, pgx.QueryExecModeExec).Scan(nil)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "22012" { // division_by_zero
		return refuse("%s", "others may create functions in a schema that the search_path names before pg_catalog, and they would be called in place of Postgres' own; leave pg_catalog out of it, so that it comes first: ALTER ROLE ... SET search_path = public, for example")
	}
	return err
}

// next is what comes after a step.
type next int

const (
	another  next = iota // step
	indexes              // have to be built, outside of a transaction
	finished             // nothing
)

// begin is the first statement of every transaction. What it sets ends with the transaction.
//
//go:embed begin.sql
var begin string

// step takes the lock, reads the version, and does the next migration or a part of it, in one transaction. The version is read by a
// statement of its own after the lock was taken: a snapshot from before the lock would show the version from before
// the migration that it waited for.
func (m migration) step(ctx context.Context, all []string) (then next, err error) {
	tx, err := m.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return another, fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing

	var locked bool
	var server int
	if err := tx.QueryRow(ctx, begin, pgx.QueryExecModeExec, lockKey(m.schema)).Scan(&locked, &server); err != nil {
		return another, fmt.Errorf("take the migration's lock: %w", err)
	}
	if server < 150000 {
		return another, refuse("the server is Postgres %d: ebb needs 15 or newer", server/10000)
	}
	if !locked {
		return another, errBusy
	}
	version, oldest, err := current(ctx, tx, m.schema)
	if err != nil {
		return another, err
	}
	if oldest > len(all) {
		return another, refuse("schema %s is at version %d, this binary knows %d: use a newer ebb", m.schema, version, len(all))
	}
	if version < 0 {
		return another, refuse("schema %s is at version %d, which there never was: put %s.jobs_version right", m.schema, version, m.schema)
	}
	if version > len(all) {
		m.log.Info("schema is newer than this program, and works for it", "schema", m.schema, "version", version, "oldest", oldest)
		return finished, nil
	}
	if version == len(all) {
		bad, err := m.unsound(ctx, tx)
		if err != nil || len(bad) > 0 {
			return indexes, err
		}
		m.log.Debug("schema is up to date", "schema", m.schema, "version", version)
		return finished, nil
	}
	adopted := notThere
	if version == 0 {
		if adopted, err = m.prepare(ctx, tx); err != nil {
			return another, err
		}
	}
	switch adopted {
	case lacksIndexes:
		return indexes, nil
	case begun, looked:
		return another, m.commit(ctx, tx, version)
	}
	to := version + 1
	if err := run(ctx, tx, all[version]+"\n"+record(m.schema, to)); isTaken(err) {
		return another, m.refuseKeys(err)
	} else if err != nil {
		return another, fmt.Errorf("migrate schema %s to version %d: %w", m.schema, to, err)
	}
	if err := m.commit(ctx, tx, to); err != nil {
		return another, err
	}
	m.log.Info("schema migrated", "schema", m.schema, "version", to, "adopted", adopted == adoptedNow)
	return another, nil // the last step finds nothing to do
}

func (m migration) commit(ctx context.Context, tx pgx.Tx, version int) error {
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit version %d of schema %s: %w", version, m.schema, err)
	}
	return nil
}

// prepare creates the schema, or looks at what is in it.
func (m migration) prepare(ctx context.Context, tx pgx.Tx) (adopted adoption, err error) {
	// Create schema "if not exists" asks for the privilege to create one even where it exists.
	var exists bool
	err = tx.QueryRow(ctx, `select exists (select from pg_catalog.pg_namespace where nspname = $1)`, pgx.QueryExecModeExec, m.schema).Scan(&exists)
	if err != nil {
		return notThere, fmt.Errorf("look for schema %s: %w", m.schema, err)
	}
	if exists {
		return m.adopt(ctx, tx)
	}
	if err := run(ctx, tx, createSchema(m.schema)); err != nil {
		return notThere, fmt.Errorf("create schema %s: %w", m.schema, err)
	}
	return notThere, nil
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
