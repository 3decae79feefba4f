package schema

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed unsound.sql
var unsoundIndexes string

// An index is one that a migration creates.
type index struct {
	name, table string
	unique      string // "unique " or nothing
	definition  string // all after the table's name, not filled in
}

var createIndex = regexp.MustCompile(`(?m)^create (unique )?index if not exists (\w+) on \{\{schema\}\}\.(\w+) ([^;]*);`)

// ebbsIndexes are all that the migrations create, apart from those of primary keys, read from their texts: the
// definition of an index has one place.
func ebbsIndexes() ([]index, error) {
	texts, err := rawSteps()
	if err != nil {
		return nil, err
	}
	var all []index
	for _, text := range texts {
		for _, found := range createIndex.FindAllStringSubmatch(text, -1) {
			all = append(all, index{unique: found[1], name: found[2], table: found[3], definition: found[4]})
		}
	}
	return all, nil
}

// concurrently is the statement that builds an index beside whoever writes into the table.
func (i index) concurrently(schema string) string {
	return fill(fmt.Sprintf("create %sindex concurrently if not exists %s on {{schema}}.%s %s", i.unique, i.name, i.table, i.definition), schema)
}

// An unsound index is one that ebb needs and that is not there, or is not to be used.
type unsound struct {
	Name, Table string
	State       string // see unsound.sql
	As          string // the name that it has
	OID         int64
}

// unsound lists the indexes that have to be built, and what is left of those that were. It needs no right to anything.
func (m migration) unsound(ctx context.Context, q querier) ([]unsound, error) {
	all, err := ebbsIndexes()
	if err != nil {
		return nil, err
	}
	var names, tables []string
	for _, i := range all {
		names, tables = append(names, i.name), append(tables, i.table)
	}
	rows, err := q.Query(ctx, unsoundIndexes, pgx.QueryExecModeExec, m.schema, names, tables)
	if err != nil {
		return nil, fmt.Errorf("look for the indexes of schema %s: %w", m.schema, err)
	}
	bad, err := pgx.CollectRows(rows, pgx.RowToStructByPos[unsound])
	if err != nil {
		return nil, fmt.Errorf("look for the indexes of schema %s: %w", m.schema, err)
	}
	if i := slices.IndexFunc(bad, func(u unsound) bool { return u.State == "taken" }); i >= 0 {
		return nil, refuse("in schema %s %s is not the index of ebb's on %s: rename it", m.schema, bad[i].Name, bad[i].Table)
	}
	return bad, nil
}
