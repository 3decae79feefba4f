package schema_test

import (
	_ "embed"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

//go:embed testdata/dump.sql
var dumpSQL string

// dump renders what is in a schema, the same for every name of the schema.
func dump(t *testing.T, conn *pgx.Conn, name string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), dumpSQL, name)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T) string {
	t.Helper()
	want, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}

func wantGolden(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	if got, want := dump(t, conn, name), golden(t); got != want {
		t.Errorf("schema %q differs from testdata/schema.sql (go test ./schema -update rewrites it):\ngot\n%s\nwant\n%s", name, got, want)
	}
}

func TestGolden(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	migrate(t, conn, "ebb")
	if *update {
		if err := os.WriteFile("testdata/schema.sql", []byte(dump(t, conn, "ebb")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantGolden(t, conn, "ebb")
	migrate(t, conn, "o'brien a$$b.x")
	wantGolden(t, conn, "o'brien a$$b.x")
}

// What --print shows does the same as Migrate, also for a name that is hard to quote, and a second run of it changes
// nothing.
func TestSQL(t *testing.T) {
	for _, name := range []string{"ebb", "o'brien a$$b.x", `a"b`, "public"} {
		conn := schematest.Connect(t, schematest.Empty(t))
		sql, err := schema.SQL(name)
		if err != nil {
			t.Fatal(err)
		}
		run(t, conn, sql)
		wantGolden(t, conn, name)
		wantVersion(t, conn, name, schema.Version)
		if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err == nil {
			t.Error("ran a second time without an error")
		}
		run(t, conn, "rollback")
		wantGolden(t, conn, name)
		migrate(t, conn, name) // finds nothing to do
	}
}
