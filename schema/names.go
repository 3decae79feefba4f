package schema

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed names.sql
var names string

// taken says whether there is a table jobs to look at, and refuses everything else that has one of our names.
func (m migration) taken(ctx context.Context, tx pgx.Tx) (jobs bool, err error) {
	type object struct{ Kind, Name string }
	there, err := collect(ctx, tx, names, pgx.RowToStructByPos[object], m.schema)
	if err != nil {
		return false, fmt.Errorf("look into schema %s: %w", m.schema, err)
	}
	var wrong []string
	for _, o := range there {
		if o.Kind == "table" && o.Name == "jobs" {
			jobs = true
			continue
		}
		wrong = append(wrong, o.Kind+" "+o.Name)
	}
	if len(wrong) > 0 {
		return false, refuse("schema %s holds what ebb would create there, but no version of ebb's: %s; rename that, or set EBB_SCHEMA to another schema",
			m.schema, strings.Join(wrong, ", "))
	}
	return jobs, nil
}
