package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Schemas whose names SQL has to quote, and their kind. They are part of the name as they are.
var oddSchemas = []string{
	"My-Schema", "user", "select", "1x", "a b", `a"b`, `a""b`, "o'brien", "a''b", "a$$b", "$1", "$ebb$", "@run", "x.jobs", "schéma", "仕事", `a\b`, "{schema}",
	"{{schema}}", "%s", "%20", "a;drop table jobs", "a--b", "/*", "(x)", "jobs", "ebb_jobs_due", "pgfoo", strings.Repeat("x", 63), strings.Repeat("é", 31),
}

// The whole chain works in each of them, for a role whose search_path is empty or leads to another table jobs first, and
// which may create nothing in public; and nothing is made or changed outside.
func TestOddSchemas(t *testing.T) {
	url := schematest.Direct(schematest.Empty(t)) // a pooler passes no search_path
	db := schematest.Connect(t, url)
	do(t, db, `revoke create on schema public from public`)
	do(t, db, `create schema shadow`)
	for _, schema := range []string{"shadow", "public"} {
		do(t, db, `create table `+schema+`.jobs (x int)`)
		do(t, db, `create table `+schema+`.jobs_runs (x int)`)
	}
	for i, name := range oddSchemas {
		path := []string{`''`, `shadow`, `shadow, public`}[i%3]
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		env := map[string]string{
			"DATABASE_URL": url + separator + "options=-csearch_path%3D" + strings.NewReplacer("'", "%27", ", ", "%2C", ",", "%2C").Replace(path),
			"EBB_SCHEMA":   name, "EBB_LOG_LEVEL": "warn",
		}
		var mu sync.Mutex
		var handled []string
		s := setup{env: env, handlers: []drain.Queue{{Name: "email", Handler: func(_ context.Context, job drain.Job) error {
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, string(job.Payload))
			return nil
		}}}}
		before := elsewhere(t, db, name)
		ok := func(args ...string) string {
			t.Helper()
			got := s.ebb(args...)
			if got.status != 0 {
				t.Fatalf("schema %q: %v: exit %d, %s%s", name, args, got.status, got.stdout, got.stderr)
			}
			return got.stdout
		}
		if said := ok("migrate"); said != fmt.Sprintf("schema %s is at version 1\n", name) {
			t.Errorf("schema %q: %s", name, said)
		}
		ok("migrate")
		ok("enqueue", "email", `{"by": 1}`)
		s.stdin = "{\"by\": 2}\n{\"by\": 3}\n"
		ok("enqueue", "email", "--lines")
		if _, inserted, err := drain.Enqueue(t.Context(), db, name, drain.NewJob{Queue: "email", Payload: []byte(`{"by": 4}`)}); err != nil || !inserted {
			t.Errorf("schema %q: %v", name, err)
		}
		if n, err := drain.EnqueueMany(t.Context(), db, name, []drain.NewJob{{Queue: "email", Payload: []byte(`{"by": 5}`)}, {Queue: "other", Payload: []byte(`{}`)}}); err != nil || n != 2 {
			t.Errorf("schema %q: %v, %v", name, n, err)
		}
		do(t, db, `select `+pgx.Identifier{name}.Sanitize()+`.enqueue('email', '{"by": 6}', unique_key => 'k')`)
		handled = nil
		s.env["EBB_QUEUES"] = "email"
		run := ok("run")
		delete(s.env, "EBB_QUEUES")
		if len(handled) != 6 || !strings.Contains(run, `"done":6,`) || !strings.Contains(run, `"unhandled":1,`) {
			t.Errorf("schema %q: %v: %s", name, handled, run)
		}
		if status := ok("status", "--json"); !strings.Contains(status, `"done": 6,`) || !strings.Contains(status, `"stopped": "empty"`) {
			t.Errorf("schema %q: %s", name, status)
		}
		ok("status")
		ok("plan", "--from-history", "@hourly")
		if after := elsewhere(t, db, name); after != before {
			t.Errorf("schema %q: outside of it there was\n%s\nnow\n%s", name, before, after)
		}
		do(t, db, `drop schema `+pgx.Identifier{name}.Sanitize()+` cascade`) // the list of what is elsewhere stays short
	}
}

// elsewhere lists the relations, functions, types and schemas that are not of the schema named, and how many rows are in the
// tables that could be taken for its own.
func elsewhere(t *testing.T, db *pgx.Conn, name string) string {
	t.Helper()
	var list string
	err := db.QueryRow(t.Context(), `
		select string_agg(x, E'\n' order by x) from (
			select nspname, nspname || ' relation ' || relname from pg_class join pg_namespace n on n.oid = relnamespace
			union all select nspname, nspname || ' function ' || proname from pg_proc join pg_namespace n on n.oid = pronamespace
			union all select nspname, nspname || ' type ' || typname from pg_type join pg_namespace n on n.oid = typnamespace
			union all select nspname, nspname from pg_namespace
			union all select '', 'rows: ' || (select count(*) from shadow.jobs) + (select count(*) from public.jobs)
			                              + (select count(*) from shadow.jobs_runs) + (select count(*) from public.jobs_runs)
		) o (schema, x) where schema <> $1 and schema !~ '^pg_(toast|temp)|^pg_catalog$|^information_schema$'`, name).Scan(&list)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What cannot be a schema's name is refused by one rule, before anything is connected to, by every command.
func TestRefusedSchemas(t *testing.T) {
	for _, name := range []string{
		strings.Repeat("x", 64), strings.Repeat("é", 32), "pg_foo", "pg_catalog", "pg_temp", "information_schema", "a\nb", "a\tb", "a\x01b", "\xff", `"quoted"`, "'ebb'",
	} {
		for _, args := range [][]string{{"run", "--", "true"}, {"migrate"}, {"migrate", "--print"}, {"enqueue", "email", "{}"}, {"status"}, {"plan", "--from-history", "@hourly"}} {
			got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_SCHEMA": name}}.ebb(args...)
			if got.status != refused || got.stdout != "" || lineOf(got.stderr, "EBB_SCHEMA") == "" || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%q, %v: exit %d, %s%s", name, args, got.status, got.stdout, got.stderr)
			}
		}
	}
}
