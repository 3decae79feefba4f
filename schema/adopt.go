package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	//go:embed rows.sql
	badStatuses string
	//go:embed nulls.sql
	nulls string
	//go:embed keys.sql
	sameKeys string
	//go:embed checks.sql
	checks string
	//go:embed adopting.sql
	adopting string
	//go:embed adopt.sql
	adopt string
	//go:embed adopt_check.sql
	adoptCheck string
	//go:embed adopt_end.sql
	adoptEnd string
)

// adoption is how far the adoption of a jobs table is. A small table goes all the way in one transaction. A large one
// takes one for each stage, so that nobody is kept from it for longer than a moment.
type adoption int

const (
	notThere     adoption = iota // there is nothing to adopt
	begun                        // it has its columns
	lacksIndexes                 // and wants its indexes
	looked                       // its rows were found to be good
	adoptedNow                   // all that is left is what every schema gets
)

// adopt looks at a schema that was there before ebb. None of our names in it is fine, and so is a jobs table that
// can become ebb's, of which it then does the next stage, or all; anything else is refused before anything was changed.
func (m migration) adopt(ctx context.Context, tx pgx.Tx) (adoption, error) {
	var size int64
	var isBegun, isLooked bool
	var owner *string // where it is another role
	err := tx.QueryRow(ctx, adopting, pgx.QueryExecModeExec, m.schema).Scan(&size, &isBegun, &isLooked, &owner)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return notThere, fmt.Errorf("look for the table %s.jobs: %w", m.schema, err)
	}
	if !isBegun {
		jobs, err := m.taken(ctx, tx)
		if err != nil || !jobs {
			return notThere, err
		}
		if owner != nil && *owner != m.owner {
			return notThere, refuse("table %s.jobs belongs to another role, %s, whose triggers on it would run with every job; if that is as it should be, run: ebb migrate --owner %s",
				m.schema, *owner, *owner)
		}
		if err := m.begin(ctx, tx); err != nil {
			return notThere, err
		}
		if size > m.small {
			m.log.Info("adopting a large table in several steps, beside those who use it", "table", m.schema+".jobs", "megabytes", size>>20)
			return begun, nil
		}
	} else if bad, err := m.unsound(ctx, tx); err != nil || len(bad) > 0 {
		return lacksIndexes, err
	}
	if !isLooked || !isBegun {
		if err := m.alter(ctx, tx, adoptCheck); err != nil {
			return notThere, err
		}
		if isBegun {
			return looked, nil
		}
	}
	return adoptedNow, m.alter(ctx, tx, adoptEnd)
}

// begin gives a table the columns that it lacks.
func (m migration) begin(ctx context.Context, tx pgx.Tx) error {
	if err := m.usable(ctx, tx); err != nil {
		return err
	}
	type check struct{ Name, Def string }
	old, err := collect(ctx, tx, checks, pgx.RowToStructByPos[check], m.schema)
	if err != nil {
		return fmt.Errorf("read the checks of %s.jobs: %w", m.schema, err)
	}
	var sql strings.Builder
	for _, c := range old {
		fmt.Fprintf(&sql, "alter table {{schema}}.jobs drop constraint %s;\n", pgx.Identifier{c.Name}.Sanitize())
		m.log.Debug("replacing a check of the adopted table", "constraint", c.Name, "was", c.Def)
	}
	return m.alter(ctx, tx, sql.String()+adopt)
}

// alter changes the table that is adopted.
func (m migration) alter(ctx context.Context, tx pgx.Tx, sql string) error {
	err := run(ctx, tx, fill(sql, m.schema))
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "23502" || pg.Code == "23514") { // not_null_violation, check_violation
		return refuse("table %s.jobs is not one that ebb can use: %w; put those rows right first", m.schema, err)
	}
	if err != nil {
		return fmt.Errorf("adopt table %s.jobs: %w", m.schema, err)
	}
	return nil
}

// usable refuses a table jobs whose columns or rows are not what ebb can make its own.
func (m migration) usable(ctx context.Context, tx pgx.Tx) error {
	have, err := collect(ctx, tx, columns, pgx.RowToStructByPos[found], m.schema)
	if err != nil {
		return fmt.Errorf("read the columns of %s.jobs: %w", m.schema, err)
	}
	diffs := differences(have)
	if len(diffs) == 0 {
		if diffs, err = m.badRows(ctx, tx, have); err != nil {
			return err
		}
	}
	if len(diffs) > 0 {
		return refuse("table %s.jobs is not one that ebb can use: %s; change that, rename the table, or set EBB_SCHEMA to another schema",
			m.schema, strings.Join(diffs, "; "))
	}
	return nil
}

// badRows says, in words for the user, which rows of a table jobs with these columns ebb could not have.
func (m migration) badRows(ctx context.Context, tx pgx.Tx, have []found) (diffs []string, err error) {
	bad, err := collect(ctx, tx, fill(badStatuses, m.schema), pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the statuses of %s.jobs: %w", m.schema, explain(err))
	}
	if len(bad) > 0 {
		diffs = append(diffs, "rows have the status "+strings.Join(bad, ", "))
	}
	empty, err := collect(ctx, tx, fill(nulls, m.schema), pgx.RowTo[*string])
	if err != nil {
		return nil, fmt.Errorf("look for nulls in %s.jobs: %w", m.schema, explain(err))
	}
	for _, name := range empty {
		if name != nil {
			diffs = append(diffs, "column "+*name+" has null values in it")
		}
	}
	if !slices.ContainsFunc(have, func(f found) bool { return f.Name == "unique_key" }) {
		return diffs, nil
	}
	same, err := collect(ctx, tx, fill(sameKeys, m.schema), pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for keys of several jobs in %s.jobs: %w", m.schema, explain(err))
	}
	if len(same) > 0 {
		diffs = append(diffs, "queued or running jobs of one queue have the same unique_key: ids "+strings.Join(same, ", "))
	}
	return diffs, nil
}

func collect[T any](ctx context.Context, tx pgx.Tx, sql string, row pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, row)
}
