package drain

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// SchemaVersion is the version of the tables that the statements of this package are written for. It equals
// schema.Version; a test there holds them together.
const SchemaVersion = 1

// A statement is the text of a .sql file, in which {schema} stands for the schema of the tables.
type statement string

// in fills the schema in, and leaves the file's contract at home.
func (s statement) in(schema string) string {
	text := string(s)
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.ReplaceAll(text, "{schema}", pgx.Identifier{schema}.Sanitize())
}
