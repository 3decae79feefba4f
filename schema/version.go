package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hasVersion finds the version table through the catalog, which needs no privilege on the schema.
//
//go:embed version.sql
var hasVersion string

// A querier is a connection or a transaction on one.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Current returns the version that the tables of a schema are at, and the oldest one that programs may be written for that
// work on them: 0 and 0 where there are no tables.
func Current(ctx context.Context, conn *pgx.Conn, schema string) (version, oldest int, err error) {
	if err := ValidName(schema); err != nil {
		return 0, 0, err
	}
	return current(ctx, conn, schema)
}

func current(ctx context.Context, q querier, schema string) (version, oldest int, err error) {
	var table, column bool
	if err := q.QueryRow(ctx, hasVersion, pgx.QueryExecModeExec, schema).Scan(&table, &column); err != nil {
		return 0, 0, fmt.Errorf("look for the version of schema %s: %w", schema, explain(err))
	}
	if !table {
		return 0, 0, nil
	}
	if !column {
		return 0, 0, refuse("table %s.jobs_version is not ebb's: it has no integer columns version and oldest; rename it, or set EBB_SCHEMA to another schema", schema)
	}
	err = q.QueryRow(ctx, fill(`select version, oldest from {{schema}}.jobs_version`, schema), pgx.QueryExecModeExec).Scan(&version, &oldest)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, refuse("table %s.jobs_version is empty: put back its row, whose version is that of the tables", schema)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read the version of schema %s: %w", schema, explain(err))
	}
	return version, oldest, nil
}

// explain makes a missing privilege the user's to mend.
func explain(err error) error {
	var pg *pgconn.PgError
	if !errors.Is(err, ErrRefused) && errors.As(err, &pg) && pg.Code == "42501" { // insufficient_privilege
		return refuse("%w; migrate as the owner of the database, or have its owner run what ebb migrate --print shows", err)
	}
	return err
}
