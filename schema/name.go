package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// maxName is what Postgres keeps of an identifier, in bytes; it cuts longer ones off without an error.
const maxName = 63

// ValidName says whether ebb's tables can be in a schema of this name: 1 to 63 bytes of UTF-8 without control
// characters, not beginning with pg_, which Postgres keeps for itself, and not information_schema. Everything else is
// allowed and needs no quotes in the setting: capitals, spaces, dots, quotes, dollars and keywords are part of the name.
// The error is for the user to mend ([ErrRefused]).
func ValidName(name string) error {
	switch {
	case name == "":
		return refuse("the schema name is empty: name one, or leave it unset for ebb")
	case !utf8.ValidString(name):
		return refuse("schema name %q is not valid UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return refuse("schema name %q has a control character (a line break, a tab, ...) in it", name)
	case len(name) > maxName:
		return refuse("schema name %q has %d bytes: Postgres keeps %d of them", name, len(name), maxName)
	case strings.HasPrefix(name, "pg_"):
		return refuse("schema name %q: Postgres keeps names that begin with pg_ for itself", name)
	case name == "information_schema":
		return refuse("schema name %q is Postgres' own", name)
	}
	return nil
}

// fill puts the quoted schema name where a statement says {{schema}}. The placeholder only stands where Postgres
// expects an identifier, never inside a string or a function's body that is one.
func fill(sql, schema string) string {
	return strings.ReplaceAll(sql, "{{schema}}", pgx.Identifier{schema}.Sanitize())
}
