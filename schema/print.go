package schema

import (
	"fmt"
	"strings"
)

// SQL returns what [Migrate] does to a database that has none of the tables yet, as one transaction that can be run by
// hand. It takes the lock that Migrate takes, and changes nothing where the tables exist already.
func SQL(schema string) (string, error) {
	if err := ValidName(schema); err != nil {
		return "", err
	}
	all, err := steps(schema)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- ebb's tables in the schema %s, version %d\n\n", schema, len(all))
	b.WriteString("begin;\n\n")
	b.WriteString("set local search_path = pg_catalog, pg_temp;\n")
	b.WriteString("set local lock_timeout = '10s';\n")
	fmt.Fprintf(&b, "select pg_catalog.pg_advisory_xact_lock(%d); -- against an ebb migrate at the same time\n\n", lockKey(schema))
	b.WriteString(createSchema(schema) + ";\n\n")
	for i, sql := range all {
		b.WriteString(sql + "\n")
		b.WriteString(record(schema, i+1) + "\n")
	}
	b.WriteString("commit;\n")
	return b.String(), nil
}
