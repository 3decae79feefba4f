package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed bytes.sql
var tableBytes string

// errKeptOut says that another session has a table in such a way that no index of it can be built now.
var errKeptOut = errors.New("another session keeps the table from being changed")

// build builds the indexes that are missing or invalid, in a way that keeps nobody from the table. It does so outside of
// transactions, as Postgres wants it, so that what is killed in the middle leaves an invalid index; the next build sets
// that aside and begins anew.
func (m migration) build(ctx context.Context) error {
	bad, bytes, err := m.setAside(ctx)
	if err != nil {
		return err
	}
	all, err := ebbsIndexes()
	if err != nil {
		return err
	}
	for _, u := range bad {
		if u.State == "missing" {
			i := all[slices.IndexFunc(all, func(i index) bool { return i.name == u.Name })]
			m.log.Info("building an index beside those who use the table", "schema", m.schema, "index", i.name)
			if err := m.watched(ctx, i.concurrently(m.schema), bytes); err != nil {
				return m.notBuilt(u, err)
			}
		}
	}
	for _, u := range bad {
		if u.State == "leftover" {
			m.log.Info("dropping an invalid index", "schema", m.schema, "index", u.As)
			err := m.watched(ctx, fill("drop index concurrently if exists {{schema}}."+pgx.Identifier{u.As}.Sanitize(), m.schema), bytes)
			if err != nil {
				return m.notBuilt(u, err)
			}
		}
	}
	return nil
}

// setAside takes ebb's names from invalid indexes, and lists what is to be built and dropped then. The lock that it takes
// is the one that a build takes, so that the invalid index of a build which is under way is never touched: two of these
// locks exclude each other, and nobody else. It also says how large the largest of the tables is.
func (m migration) setAside(ctx context.Context) (bad []unsound, bytes int64, err error) {
	tx, err := m.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return nil, 0, fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var free bool
	if err := tx.QueryRow(ctx, begin, pgx.QueryExecModeExec, lockKey(m.schema)).Scan(&free, new(int)); err != nil {
		return nil, 0, fmt.Errorf("take the migration's lock: %w", err)
	}
	if !free {
		return nil, 0, errBusy
	}
	if bad, err = m.unsound(ctx, tx); err != nil {
		return nil, 0, err
	}
	for i, u := range bad {
		if slices.ContainsFunc(bad[:i], func(before unsound) bool { return before.Table == u.Table }) {
			continue
		}
		err := run(ctx, tx, fill("lock table {{schema}}."+u.Table+" in share update exclusive mode", m.schema))
		if classify(err) == locked {
			return nil, 0, errKeptOut
		}
		if err != nil {
			return nil, 0, fmt.Errorf("lock table %s.%s: %w", m.schema, u.Table, explain(err))
		}
	}
	if bad, err = m.unsound(ctx, tx); err != nil {
		return nil, 0, err
	}
	for _, u := range bad {
		if u.State != "invalid" {
			continue
		}
		aside := fmt.Sprintf("alter index {{schema}}.%s rename to %s_ccold%d", u.Name, u.Name, u.OID)
		if err := run(ctx, tx, fill(aside, m.schema)); err != nil {
			return nil, 0, fmt.Errorf("set aside the invalid index %s of schema %s: %w", u.Name, m.schema, explain(err))
		}
	}
	if bad, err = m.unsound(ctx, tx); err != nil {
		return nil, 0, err
	}
	if len(bad) > 0 {
		if err := tx.QueryRow(ctx, tableBytes, pgx.QueryExecModeExec, m.schema, tablesOf(bad)).Scan(&bytes); err != nil {
			return nil, 0, fmt.Errorf("read the size of schema %s's tables: %w", m.schema, err)
		}
	}
	return bad, bytes, tx.Commit(ctx)
}

func tablesOf(bad []unsound) (names []string) {
	for _, u := range bad {
		names = append(names, u.Table)
	}
	return names
}

// notBuilt says what to do where a build failed.
func (m migration) notBuilt(u unsound, err error) error {
	if isTaken(err) {
		return m.refuseKeys(err)
	}
	return fmt.Errorf("index %s of schema %s: %w", u.As, m.schema, err)
}

// isTaken says whether the index of the keys of queued and running jobs found two of one key. An adoption looks for them
// before it changes anything, so these came later.
func isTaken(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && pg.SchemaName != "pg_catalog" // unique_violation
}

func (m migration) refuseKeys(err error) error {
	return refuse("schema %s: queued or running jobs of one queue have the same unique_key: %w; fail or change all but one of them, then run ebb migrate again", m.schema, err)
}
