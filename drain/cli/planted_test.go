package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Whoever may create functions and operators in a schema on a role's search_path can take the place of those of
// Postgres' own that a call does not match exactly. Here somebody took the place of everything that the program's
// statements use, for all types that they could use it with.

// A sqlText is the text of a statement, or of several, as it stands in a .sql file or in a string of a Go file.
type sqlText struct {
	where, text string
}

// sqlTexts are all that there are in the repository but for the tests' own.
func sqlTexts(t *testing.T) (texts []sqlText) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case filepath.Ext(path) == ".sql":
			text, err := os.ReadFile(path)
			texts = append(texts, sqlText{path, bareSQL(string(text))})
			return err
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					if startsSQL.MatchString(text) {
						texts = append(texts, sqlText{files.Position(lit.Pos()).String(), bareSQL(text)})
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	startsSQL    = regexp.MustCompile(`(?i)^\s*(select|insert into|update|delete from|with|values|create|alter|drop|lock|set local|do)\s`)
	comment      = regexp.MustCompile(`--[^\n]*`)
	literal      = regexp.MustCompile(`'[^']*'`)
	called       = regexp.MustCompile(`(operator\()?([\w.]*)\b(\w+)\(`)
	operatorSign = regexp.MustCompile(`[-+*/<>=~!@#%^&|?]+`)
	sqlArgument  = regexp.MustCompile(`@(\w+)`)
	isQuery      = regexp.MustCompile(`(?is)^\(?\s*(select\b|insert into\b|update \S+ (\w+ )?set\b|delete from\b|with (recursive )?\w+ (\([^)]*\) )?as\b)`)
	fragment     = regexp.MustCompile(`\{\w+\}`)
	schemaName   = regexp.MustCompile(`\{+schema\}+`)
)

// bareSQL is a text without its comments and with its fragments filled in.
func bareSQL(text string) string {
	return strings.TrimSpace(fragment.ReplaceAllStringFunc(comment.ReplaceAllString(text, ""), func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "fragments", name[1:len(name)-1]+".sql"))
		if err != nil {
			return name // the schema
		}
		return bareSQL(string(text))
	}))
}

func TestEveryFunctionIsPostgresOwn(t *testing.T) {
	conn := schematest.Connect(t, schematest.New(t))
	own := functionNames(t, conn)
	for _, s := range sqlTexts(t) {
		for _, c := range called.FindAllStringSubmatch(literal.ReplaceAllString(s.text, "''"), -1) {
			if c[1] != "" || c[2] == "pg_catalog." || strings.HasSuffix(c[2], "schema}.") {
				continue
			}
			// extract (x from y) is syntax, and means the one in pg_catalog.
			if slices.Contains(own, c[3]) && c[3] != "extract" {
				t.Errorf("%s: %s( is not qualified: write pg_catalog.%s(", s.where, c[3], c[3])
			}
		}
	}
}

func functionNames(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), `select distinct proname::text from pg_proc where pronamespace = 'pg_catalog'::regnamespace`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// plant creates, as whoever is connected, operators and functions of every name that the texts use, in the schema public
// and for all types that the program's statements know: those of one argument for each type, those of two for each pair.
// Each raises an error when it is called.
func plant(t *testing.T, conn *pgx.Conn, texts []sqlText) {
	t.Helper()
	own := functionNames(t, conn)
	signs, names := map[string]bool{}, map[string]bool{}
	for _, s := range texts {
		text := literal.ReplaceAllString(s.text, "''")
		for _, sign := range operatorSign.FindAllString(sqlArgument.ReplaceAllString(text, "$1"), -1) {
			signs[sign] = true
		}
		for _, c := range called.FindAllStringSubmatch(text, -1) {
			if slices.Contains(own, c[3]) {
				names[c[3]] = true
			}
		}
	}
	if len(signs) < 10 || len(names) < 30 {
		t.Fatalf("the texts use %d operators and %d functions: are they read?", len(signs), len(names))
	}
	if _, err := conn.Exec(t.Context(), planting); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Exec(t.Context(), `select pg_temp.plant($1, $2)`, slices.Sorted(maps.Keys(signs)), slices.Sorted(maps.Keys(names)))
	if err != nil {
		t.Fatal(err)
	}
}

const planting = `create function pg_temp.plant(signs text[], names text[]) returns void language plpgsql set search_path = pg_catalog as $$
declare
    types text[] := '{text,varchar,name,"\"char\"",smallint,int,bigint,numeric,float8,boolean,interval,timestamptz,jsonb,oid,regtype,
                      xid,inet,text[],name[],smallint[],int[],bigint[],timestamptz[],int2vector,oidvector}';
    l text; r text; f text; o text;
    body text := 'language plpgsql as $f$ begin perform pg_catalog.nextval(''public.ebb_planted_calls''); raise exception ''planted code runs: %%'', ''%s''; end $f$';
begin
    create sequence public.ebb_planted_calls; -- no rollback takes back what it counted
    grant all on sequence public.ebb_planted_calls to public;
    foreach l in array types loop
        foreach f in array names loop
            execute format('create function public.%I(%s) returns %s ', f, l, l) || format(body, f || '(' || l || ')');
        end loop;
        foreach r in array types loop
            foreach f in array names loop
                execute format('create function public.%I(%s, %s) returns %s ', f, l, r, l) || format(body, f || '(' || l || ', ' || r || ')');
            end loop;
            execute format('create function public.ebb_planted_same(%s, %s) returns %s ', l, r, l) || format(body, l || ' operator ' || r);
            execute format('create function public.ebb_planted_bool(%s, %s) returns boolean ', l, r) || format(body, l || ' operator ' || r);
            foreach o in array signs loop
                execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.ebb_planted_%s)', o, l, r,
                    case when o in ('+', '-', '*', '/', '||', '%', '&', '|', '#', '<<', '>>') then 'same' else 'bool' end);
            end loop;
        end loop;
    end loop;
end $$`

// roleName is the name of a role that the test makes, and that goes with the test.
func roleName(t *testing.T) string {
	t.Helper()
	name := "role_" + strings.ToLower(rand.Text())
	t.Cleanup(func() { // after the database is gone, and what it owns with it
		server, err := pgx.Connect(context.Background(), schematest.Server(t))
		if err == nil {
			defer server.Close(context.Background())
			_, err = server.Exec(context.Background(), `drop role if exists `+name)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return name
}

// Where somebody planted them, whose role may create in a schema on a superuser's search_path and no more, the superuser
// migrates, adopts, enqueues, drains and looks, and runs nothing of his.
func TestNothingPlantedRuns(t *testing.T) {
	planter := roleName(t)
	url := schematest.Empty(t)
	db := schematest.Connect(t, url) // past what is planted
	do(t, db, `set search_path = ''`)
	do(t, db, `create role `+planter+`; grant create on schema public to `+planter)
	conn := schematest.Connect(t, url)
	do(t, conn, `set role `+planter)
	plant(t, conn, sqlTexts(t))
	do(t, conn, `reset role`)
	do(t, db, `create schema old; create table old.jobs (id bigserial primary key, queue text, payload jsonb, status text, run_at timestamptz, attempts int,
		max_attempts int, locked_until timestamptz, last_error text, created_at timestamptz)`)
	do(t, db, `insert into old.jobs (queue, payload, status, run_at, attempts, max_attempts, created_at) values ('q', '{}', 'queued', '2020-01-01', 0, 5, '2020-01-01')`)

	s := setup{env: map[string]string{"DATABASE_URL": url}}
	old := setup{env: map[string]string{"DATABASE_URL": url, "EBB_SCHEMA": "old"}, handlers: []drain.Queue{{Name: "q", Handler: nothing}}}
	for _, i := range []invocation{s.ebb("migrate"), s.ebb("migrate"), old.ebb("migrate"), old.ebb("run"), s.ebb("plan", "*/30 * * * *")} {
		if i.status != 0 || strings.Contains(i.stderr, "planted") {
			t.Errorf("exit %d\n%s%s", i.status, i.stdout, i.stderr)
		}
	}
	everyEnding(t, db, url, url)
	do(t, conn, `select ebb.enqueue('other'::text, '{}'::jsonb, max_attempts => 3)`)
	if n := text(t, db, `select pg_catalog.count(*)::text from public.ebb_planted_calls where is_called`); n != "0" {
		t.Error("something planted ran")
	}
}

// A search_path on which others may create something before pg_catalog is refused by every command that would call it, and
// one on which nobody else may is not.
func TestPathBeforePostgresOwn(t *testing.T) {
	planter := roleName(t)
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `create role `+planter)
	do(t, db, `create schema mine; alter database `+text(t, db, `select current_database()`)+` set search_path = mine, pg_catalog`)
	s := setup{env: map[string]string{"DATABASE_URL": url}, handlers: []drain.Queue{{Name: "q", Handler: nothing}}}
	for _, open := range []bool{false, true} {
		if open {
			do(t, db, `grant create on schema mine to `+planter)
		}
		for _, args := range [][]string{{"migrate"}, {"run"}, {"status"}, {"awake"}} {
			i := s.ebb(args...)
			if refused := strings.Contains(i.stdout+i.stderr, "ALTER ROLE ... SET search_path"); refused != open || (i.status == 0) == open {
				t.Errorf("%v, where others may create: %v: exit %d\n%s%s", args, open, i.status, i.stdout, i.stderr)
			}
		}
	}
	if n := text(t, db, `select count(*)::text from ebb.jobs_runs`); n != "1" {
		t.Errorf("%s runs are recorded", n)
	}
	first, err := os.ReadFile(filepath.Join("..", "path.sql"))
	for _, other := range []string{"../jobs/path.sql", "../../schema/path.sql", "../../schedule/awake/path.sql"} {
		text, otherErr := os.ReadFile(other)
		if errors.Join(err, otherErr) != nil || !bytes.Equal(text, first) {
			t.Errorf("%s is not that of the package drain: %v", other, errors.Join(err, otherErr))
		}
	}
}

// Every statement that reads or writes rows is parsed by Postgres as the body of a function, whose dependencies then tell
// what it calls: also where no test ever executes it.
func TestNoStatementCallsWhatIsPlanted(t *testing.T) {
	texts := sqlTexts(t)
	url := schematest.New(t)
	conn := schematest.Connect(t, url)
	plant(t, conn, texts)
	if _, err := conn.Exec(t.Context(), `create schema checked`); err != nil {
		t.Fatal(err)
	}
	look := schematest.Connect(t, url) // past what is planted
	if _, err := look.Exec(t.Context(), `set search_path = ''`); err != nil {
		t.Fatal(err)
	}
	parsed := 0
	for _, s := range texts {
		if !isQuery.MatchString(s.text) {
			continue
		}
		parsed++
		var numbers []string
		text := schemaName.ReplaceAllString(sqlArgument.ReplaceAllStringFunc(s.text, func(name string) string {
			if !slices.Contains(numbers, name) {
				numbers = append(numbers, name)
			}
			return fmt.Sprintf("$%d", slices.Index(numbers, name)+1)
		}), "ebb")
		text = strings.ReplaceAll(text, "%d", "1")
		if err := callsOnlyOwn(t.Context(), conn, look, text); err != nil {
			t.Errorf("%s: %v", s.where, err)
		}
	}
	if parsed < 30 {
		t.Errorf("only %d statements were found", parsed)
	}
}

// callsOnlyOwn fails where a statement calls what stands in the schema public, or where that makes it mean nothing any more.
func callsOnlyOwn(ctx context.Context, conn, look *pgx.Conn, text string) error {
	prepared, err := conn.Prepare(ctx, "", text)
	if err != nil {
		return err
	}
	var types []string
	for _, oid := range prepared.ParamOIDs {
		var name string
		if err := look.QueryRow(ctx, `select $1::oid::regtype::text`, oid).Scan(&name); err != nil {
			return err
		}
		types = append(types, name)
	}
	text = strings.TrimSuffix(text, ";")
	_, err = conn.Exec(ctx, "create or replace function checked.statement("+strings.Join(types, ", ")+") returns void language sql begin atomic "+text+"; end")
	if err != nil {
		return err
	}
	// Not prepared: the function's oid would be that of the first.
	rows, _ := look.Query(ctx, `select pg_describe_object(refclassid, refobjid, refobjsubid) from pg_depend
		where classid = 'pg_proc'::regclass and objid = 'checked.statement'::regproc
		  and (refclassid = 'pg_proc'::regclass and refobjid in (select oid from pg_proc where pronamespace = 'public'::regnamespace)
		    or refclassid = 'pg_operator'::regclass and refobjid in (select oid from pg_operator where oprnamespace = 'public'::regnamespace))`, pgx.QueryExecModeExec)
	calls, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(calls) > 0 {
		err = fmt.Errorf("it calls %s: give both sides the exact types of Postgres' own, or write operator(pg_catalog....)", strings.Join(calls, ", "))
	}
	_, dropErr := conn.Exec(ctx, `drop function checked.statement`)
	return errors.Join(err, dropErr)
}
