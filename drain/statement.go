package drain

import (
	"embed"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// SchemaVersion is the version of the tables that the statements of this package are written for. It equals
// schema.Version; a test there holds them together.
const SchemaVersion = 1

// A statement is the text of a .sql file, in which {schema} stands for the schema of the tables and other names in
// braces for the fragments.
type statement string

// The fragments say once what several statements need. A statement has their names in braces.
//
//go:embed fragments/*.sql
var fragmentFiles embed.FS

var fragments = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	files, _ := fragmentFiles.ReadDir("fragments") // embedded, so it is there
	for _, f := range files {
		text, _ := fragmentFiles.ReadFile("fragments/" + f.Name())
		pairs = append(pairs, "{"+strings.TrimSuffix(f.Name(), ".sql")+"}", bare(string(text)))
	}
	return strings.NewReplacer(pairs...)
})

// in fills the schema and the fragments in, and leaves the file's contract at home.
func (s statement) in(schema string) string {
	text := bare(string(s))
	for range 2 { // a fragment may have one in it
		text = fragments().Replace(text)
	}
	return strings.ReplaceAll(text, "{schema}", pgx.Identifier{schema}.Sanitize())
}

func bare(text string) string {
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
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
