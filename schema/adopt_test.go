package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// article is the jobs table that people have made from the article.
const article = `
	id bigserial primary key,
	queue text not null default 'default',
	payload jsonb not null,
	status text not null default 'queued',
	run_at timestamptz not null default now(),
	attempts int not null default 0,
	max_attempts int not null default 5,
	locked_until timestamptz,
	last_error text,
	created_at timestamptz not null default now()`

// Variants of it that are as good.
var adoptable = map[string]string{
	"article":        article,
	"identity":       strings.Replace(article, "bigserial", "bigint generated always as identity", 1),
	"check":          article + `, check (status in ('failed', 'done', 'running', 'queued'))`,
	"narrow check":   article + `, constraint "odd name" check (status <> 'x'), constraint jobs_status_check check (status <> 'y')`,
	"nullable":       strings.ReplaceAll(article, " not null", ""),
	"no defaults":    strings.NewReplacer(" default 'queued'", "", " default now()", "", " default 0", "", " default 5", "", " default 'default'", "").Replace(article),
	"more columns":   article + `, priority int not null default 3, note text, "Key" bigint generated always as identity`,
	"some of ebb's":  article + `, locked_by text not null default '', unique_key text, finished_at timestamptz not null default now()`,
	"all of ebb's":   article + `, locked_by text, lost int not null default 0, unique_key text, started_at timestamptz, finished_at timestamptz`,
	"other indexes":  article + `); create index jobs_due on public.jobs (queue, run_at) where (status = 'queued'`,
	"references":     article + `); create table public.sent (job bigint references public.jobs (id)`,
	"another column": article + `, gone int); alter table public.jobs drop column gone; create view public.v as (select * from public.jobs`,
}

func TestAdopt(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	for name, columns := range adoptable {
		t.Run(name, func(t *testing.T) {
			run(t, conn, `drop schema public cascade; create schema public; create table public.jobs (`+columns+`)`)
			run(t, conn, `insert into public.jobs (queue, payload, status, run_at, attempts, max_attempts, locked_until, last_error, created_at) values
				('email', '{"n": 1}', 'queued', '2020-01-01', 0, 5, null, null, '2020-01-01'),
				('email', '{"n": 2}', 'running', '2020-01-01', 1, 5, '2020-01-02', null, '2020-01-01'),
				('email', '{"n": 3}', 'running', '2020-01-01', 1, 5, null, 'x', '2020-01-01'),
				('default', '{"n": 4}', 'done', '2020-01-01', 3, 3, null, 'y', '2020-01-01'),
				('default', '{"n": 5}', 'failed', '2020-01-01', 5, 5, null, 'z', '2020-01-01')`)
			rows := `select string_agg((j.id, queue, payload, status, run_at, attempts, max_attempts, locked_until, last_error, created_at)::text, E'\n' order by id) from public.jobs j`
			before := get[string](t, conn, rows)
			migrate(t, conn, "public")
			migrate(t, conn, "public")
			wantVersion(t, conn, "public", schema.Version)
			if after := get[string](t, conn, rows); after != before {
				t.Errorf("rows were\n%s\nnow\n%s", before, after)
			}
			wantLikeGolden(t, conn)

			run(t, conn, `insert into public.jobs (queue, payload) values ('email', '{"to": 1}')`)
			if !get[bool](t, conn, `select status = 'queued' and run_at = created_at and attempts = 0 and max_attempts = 5 and lost = 0 from public.jobs where id = 6`) {
				t.Error("an inserted row has not the defaults")
			}
			if id := get[int](t, conn, `select public.enqueue('email', '{}', unique_key => 'k')`); id != 7 {
				t.Errorf("enqueue gave id %d, want 7", id)
			}
		})
	}
}

// wantLikeGolden wants in public all that a fresh schema has; the order of the columns, how ids are made and what
// the user has beside it may differ.
func wantLikeGolden(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	have := dump(t, conn, "public")
	for line := range strings.Lines(golden(t)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "    id bigint") {
			continue
		}
		if !strings.Contains(have, line+"\n") && !strings.Contains(have, line+" default") {
			t.Errorf("missing after adoption: %s", line)
		}
	}
}

func TestNotAdopted(t *testing.T) {
	without := func(column string) string {
		var keep []string
		for _, l := range strings.Split(article, ",") {
			if !strings.HasPrefix(strings.TrimSpace(l), column+" ") {
				keep = append(keep, l)
			}
		}
		return strings.Join(keep, ",")
	}
	conn := schematest.Connect(t, schematest.Empty(t))
	with := func(old, new string) string { return strings.Replace(article, old, new, 1) }
	for name, c := range map[string]struct{ columns, want string }{
		"other":        {`id bigint primary key, title text not null`, "columns queue, payload, status, run_at, attempts, max_attempts, locked_until, last_error, created_at are missing; column id has no default, nor is it an identity; column title is not null"},
		"its not null": {article + `, title text not null`, "column title is not null and has no default"},
		"no status":    {without("status"), "column status is missing"},
		"no id":        {without("id"), "column id is missing"},
		"int id":       {with("bigserial", "serial"), "column id is integer, not bigint"},
		"uuid":         {with("bigserial", "uuid"), "column id is uuid, not bigint"},
		"no key":       {with("primary key", "unique"), "column id is not the primary key"},
		"no default":   {with("bigserial", "bigint"), "column id has no default"},
		"json":         {with("jsonb", "json"), "column payload is json, not jsonb"},
		"varchar":      {with("queue text", "queue varchar(20)"), "column queue is character varying(20), not text"},
		"no zone":      {with("run_at timestamptz", "run_at timestamp"), "column run_at is timestamp without time zone, not timestamp with time zone"},
		"lost":         {article + `, lost text`, "column lost is text, not integer"},
		"generated":    {article + `, unique_key text generated always as (queue) stored`, "column unique_key is generated"},
		"status":       {article + `); insert into public.jobs (payload, status) select '{}', unnest(array['queued', 'paused', 'o''k']`, "rows have the status 'o''k', 'paused'"},
		"null status":  {with("status text not null", "status text") + `); insert into public.jobs (payload, status) values ('{}', null`, "rows have the status null"},
		"null payload": {with("payload jsonb not null", "payload jsonb") + `); insert into public.jobs default values; select (1`, "column payload has null values in it"},
		"view":         {article + `); alter table public.jobs rename to j; create view public.jobs as (select * from public.j`, "view jobs"},
		"partitioned":  {article + `); drop table public.jobs; create table public.jobs (id bigint, x int) partition by list (x`, "partitioned table jobs"},
		"runs":         {article + `); create table public.jobs_runs (id int`, "table jobs_runs"},
		"archive":      {article + `); create table public.jobs_archive (id int`, "table jobs_archive"},
		"version":      {article + `); create table public.jobs_version (v text`, "jobs_version is not ebb's"},
		"function": {article + `); create function public.enqueue(text, jsonb, timestamptz, text, int) returns int language sql as 'select 1'; select (1`,
			"function enqueue(text, jsonb, timestamp with time zone, text, integer)"},
		"type": {`x int); drop table public.jobs; create type public.jobs as (x int`, "type jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, conn, `drop schema public cascade; create schema public; create table public.jobs (`+c.columns+`)`)
			before := dump(t, conn, "public")
			err := schema.Migrate(t.Context(), conn, "public", nil)
			if !errors.Is(err, schema.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant a refusal that says %q", err, c.want)
			}
			if after := dump(t, conn, "public"); after != before {
				t.Errorf("it was changed to\n%s", after)
			}
		})
	}
}
