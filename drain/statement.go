package drain

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// SchemaVersion is the version of the tables that the statements of this package are written for. It equals
// schema.Version; a test there holds them together.
const SchemaVersion = 1

// A statement is the text of a .sql file, in which {schema} stands for the schema of the tables and other names in
// braces for the fragments.
type statement string

// The fragments say once what several statements need.
var fragments = strings.NewReplacer(
	// Whether a row d was lost so often that it runs alone: twice, or once with its last attempt next.
	"{alone}", `(d.lost >= 2 or d.lost >= 1 and d.attempts::bigint + 1 >= d.max_attempts)`,
	// Whether a running row's lease ran out.
	"{expired}", `(locked_until is null or locked_until <= pg_catalog.now())`,
	// How large the payload of a row j prints. What is stored in a megabyte or more counts as too large to come with a
	// claim, so that nothing prints it only to measure it.
	"{size}", `case when pg_catalog.pg_column_size(j.payload) < 1000000
		then pg_catalog.octet_length(j.payload::text)::bigint else 9223372036854775807 end`,
	// What last_error starts with, for a row j and the run in @run.
	"{head}", `pg_catalog.format('attempt %s of %s, %s, run %s: ', j.attempts, j.max_attempts, `+utc+`, @run::text)`,
	"{utc}", utc,
)

const utc = `pg_catalog.to_char(pg_catalog.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`

// in fills the schema and the fragments in, and leaves the file's contract at home.
func (s statement) in(schema string) string {
	text := string(s)
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.ReplaceAll(fragments.Replace(text), "{schema}", pgx.Identifier{schema}.Sanitize())
}

// A batch is a pgx batch whose statements know their schema.
type batch struct {
	pgx.Batch
	schema string
}

func (b *batch) queue(s statement, args pgx.StrictNamedArgs) *pgx.QueuedQuery {
	if args == nil {
		return b.Batch.Queue(s.in(b.schema))
	}
	return b.Batch.Queue(s.in(b.schema), args)
}
