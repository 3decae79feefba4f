package schema

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed columns.sql
var columns string

// A column is one of the jobs table's, as an adopted table has to have it.
type column struct {
	name, typ string
	added     bool // by adopt.sql, where it is missing
}

var jobsColumns = []column{
	{name: "id", typ: "bigint"},
	{name: "queue", typ: "text"},
	{name: "payload", typ: "jsonb"},
	{name: "status", typ: "text"},
	{name: "run_at", typ: "timestamp with time zone"},
	{name: "attempts", typ: "integer"},
	{name: "max_attempts", typ: "integer"},
	{name: "locked_until", typ: "timestamp with time zone"},
	{name: "locked_by", typ: "text", added: true},
	{name: "lost", typ: "integer", added: true},
	{name: "unique_key", typ: "text", added: true},
	{name: "last_error", typ: "text"},
	{name: "created_at", typ: "timestamp with time zone"},
	{name: "started_at", typ: "timestamp with time zone", added: true},
	{name: "finished_at", typ: "timestamp with time zone", added: true},
}

// found is a column that a table has.
type found struct {
	Name, Type                string
	NotNull, Filled, Computed bool // Filled: by a default or an identity
	Primary                   bool // it is the primary key, alone
}

// differences says, in words for the user, what keeps a table with these columns from being ebb's jobs. Columns that
// ebb does not know are no difference if an insert need not name them.
func differences(have []found) []string {
	var diffs, missing []string
	byName := map[string]found{}
	for _, f := range have {
		byName[f.Name] = f
	}
	known := map[string]bool{}
	for _, want := range jobsColumns {
		known[want.name] = true
		f, ok := byName[want.name]
		switch {
		case !ok && want.added:
		case !ok:
			missing = append(missing, want.name)
		case f.Type != want.typ:
			diffs = append(diffs, fmt.Sprintf("column %s is %s, not %s", want.name, f.Type, want.typ))
		case f.Computed:
			diffs = append(diffs, fmt.Sprintf("column %s is generated", want.name))
		case want.name == "id" && !f.Primary:
			diffs = append(diffs, "column id is not the primary key")
		case want.name == "id" && !f.Filled:
			diffs = append(diffs, "column id has no default, nor is it an identity")
		}
	}
	for _, f := range have {
		if !known[f.Name] && f.NotNull && !f.Filled {
			diffs = append(diffs, fmt.Sprintf("column %s is not null and has no default", f.Name))
		}
	}
	switch len(missing) {
	case 0:
		return diffs
	case 1:
		return append([]string{"column " + missing[0] + " is missing"}, diffs...)
	}
	return append([]string{"columns " + strings.Join(missing, ", ") + " are missing"}, diffs...)
}
