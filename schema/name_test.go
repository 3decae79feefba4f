package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// goodNames are schema names that SQL has to quote.
var goodNames = []string{
	"ebb", "public", "My-Schema", "user", "select", "1x", "a b", ` a`, `a"b`, `"`, "o'brien", "a$$b", "$1", "$ebb$", "x.jobs", "a.b.c",
	"schéma", "仕事", `a\b`, `\`, "{{schema}}", "%s", "jobs", "a;drop table jobs", "--", "/*", "pgfoo", "PG_x",
	strings.Repeat("x", 63), strings.Repeat("é", 31), `o'brien a$$b.x`,
}

func TestValidName(t *testing.T) {
	for _, name := range goodNames {
		if err := schema.ValidName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", strings.Repeat("x", 64), strings.Repeat("é", 32), "pg_foo", "pg_catalog", "pg_temp", "information_schema",
		"a\nb", "a\tb", "a\x00b", "\u0085", "\xff",
	} {
		err := schema.ValidName(name)
		if !errors.Is(err, schema.ErrRefused) {
			t.Errorf("%q: %v, want it refused", name, err)
		}
		if strings.ContainsAny(err.Error(), "\n\t\x00") {
			t.Errorf("%q: the error shows it raw", name)
		}
	}
}

// Every name works, nothing is created outside of its schema, and a table jobs that the search_path finds first is left
// alone.
func TestNames(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	run(t, conn, `revoke create on schema public from public; create schema shadow; create table shadow.jobs (x int)`)
	paths := []string{`''`, `shadow, public`, `shadow, pg_catalog`}
	for i, name := range goodNames {
		run(t, conn, `set search_path = `+paths[i%len(paths)])
		before := elsewhere(t, conn, name)
		migrate(t, conn, name)
		wantVersion(t, conn, name, schema.Version)
		wantGolden(t, conn, name)
		run(t, conn, `insert into `+quoted(name)+`.jobs (queue, payload) values ('email', '{"to": 1}')`)
		if id := get[int64](t, conn, `select `+quoted(name)+`.enqueue('email', '{"to": 2}')`); id != 2 {
			t.Errorf("schema %q: enqueue gave id %d, want 2", name, id)
		}
		if after := elsewhere(t, conn, name); after != before {
			t.Errorf("schema %q: outside of it there was\n%s\nnow\n%s", name, before, after)
		}
		if n := get[int](t, conn, `select count(*) from shadow.jobs`); n != 0 {
			t.Errorf("schema %q: the shadow table has %d rows", name, n)
		}
	}
}

// elsewhere lists the relations, functions and schemas that are not of the schema named.
func elsewhere(t *testing.T, conn *pgx.Conn, name string) string {
	t.Helper()
	return get[string](t, conn, `
		select pg_catalog.string_agg(x, E'\n' order by x) from (
			select nspname || ' ' || relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = relnamespace where nspname not like 'pg\_%'
			union all select nspname || ' ' || proname from pg_catalog.pg_proc c join pg_catalog.pg_namespace n on n.oid = pronamespace where nspname not like 'pg\_%'
			union all select nspname from pg_catalog.pg_namespace where nspname not like 'pg\_t%'
		) o (x) where not pg_catalog.starts_with(x, $1)`, name)
}
