package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	//go:embed rows.sql
	badStatuses string
	//go:embed checks.sql
	checks string
	//go:embed adopt.sql
	adopt string
)

// adopt looks at a schema that was there before ebb. Nothing of ebb's names in it is fine, and so is a jobs table that
// can become ebb's, which it then does; anything else is refused before anything was changed.
func (m migration) adopt(ctx context.Context, tx pgx.Tx) (adopted bool, err error) {
	jobs, err := m.taken(ctx, tx)
	if err != nil || !jobs {
		return false, err
	}
	if err := m.usable(ctx, tx); err != nil {
		return false, err
	}
	type check struct{ Name, Def string }
	old, err := collect(ctx, tx, checks, pgx.RowToStructByPos[check], m.schema)
	if err != nil {
		return false, fmt.Errorf("read the checks of %s.jobs: %w", m.schema, err)
	}
	var sql strings.Builder
	for _, c := range old {
		fmt.Fprintf(&sql, "alter table {{schema}}.jobs drop constraint %s;\n", pgx.Identifier{c.Name}.Sanitize())
		m.log.Debug("replacing a check of the adopted table", "constraint", c.Name, "was", c.Def)
	}
	sql.WriteString(adopt)
	err = run(ctx, tx, fill(sql.String(), m.schema))
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23502" { // not_null_violation
		return false, refuse("table %s.jobs is not one that ebb can use: %w; give those rows a value first", m.schema, err)
	}
	if err != nil {
		return false, fmt.Errorf("adopt table %s.jobs: %w", m.schema, err)
	}
	return true, nil
}

// usable refuses a table jobs whose columns or rows are not what ebb can make its own.
func (m migration) usable(ctx context.Context, tx pgx.Tx) error {
	have, err := collect(ctx, tx, columns, pgx.RowToStructByPos[found], m.schema)
	if err != nil {
		return fmt.Errorf("read the columns of %s.jobs: %w", m.schema, err)
	}
	diffs := differences(have)
	if len(diffs) == 0 {
		bad, err := collect(ctx, tx, fill(badStatuses, m.schema), pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("read the statuses of %s.jobs: %w", m.schema, explain(err))
		}
		if len(bad) > 0 {
			diffs = append(diffs, "rows have the status "+strings.Join(bad, ", "))
		}
	}
	if len(diffs) > 0 {
		return refuse("table %s.jobs is not one that ebb can use: %s; change that, rename the table, or set EBB_SCHEMA to another schema",
			m.schema, strings.Join(diffs, "; "))
	}
	return nil
}

func collect[T any](ctx context.Context, tx pgx.Tx, sql string, row pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, row)
}
