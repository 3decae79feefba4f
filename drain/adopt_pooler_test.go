//go:build unix

package drain_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Through PgBouncer in transaction mode: a table of over 8 MB is adopted beside those who write into it; the build of
// an index that is stopped in the middle is done anew by the next migrate, and no setting is left in a server's session.
func TestAdoptThroughAPooler(t *testing.T) {
	url := schematest.Empty(t)
	db, holder := schematest.Connect(t, url), schematest.Connect(t, url)
	pooled := schematest.Connect(t, pgbouncer(t, url)+"&default_query_exec_mode=exec")
	exec := func(sql string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	is := func(sql string) (is bool) {
		t.Helper()
		if err := db.QueryRow(t.Context(), sql).Scan(&is); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return is
	}
	exec(`create table public.jobs (id bigserial primary key, queue text not null default 'default', payload jsonb not null, status text not null default 'queued',
		run_at timestamptz not null default now(), attempts int not null default 0, max_attempts int not null default 5, locked_until timestamptz, last_error text,
		created_at timestamptz not null default now())`)
	exec(`insert into public.jobs (payload) select jsonb_build_object('n', n, 'text', md5(n::text) || md5((n + 1)::text)) from generate_series(1, 60000) n`)
	if _, err := holder.Exec(t.Context(), `begin isolation level repeatable read`); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `select 1`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := make(chan error, 1)
	go func() { end <- schema.Migrate(ctx, pooled, "public", nil) }()
	exec(`set statement_timeout = '1s'`)
	var err error
	for under, deadline := true, time.Now().Add(time.Minute); under; {
		exec(`insert into public.jobs (payload) values ('{}')`)
		if is(`select exists (select from pg_stat_activity where query like 'create index concurrently%' and datname = current_database() and wait_event_type = 'Lock')`) {
			cancel() // as a signal does
		}
		select {
		case err = <-end:
			under = false
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the migration does not end")
		}
	}
	if err == nil || ctx.Err() == nil || !is(`select exists (select from pg_index where not indisvalid)`) {
		t.Fatalf("the build was not stopped in the middle: %v", err)
	}
	if _, err := holder.Exec(t.Context(), `commit`); err != nil {
		t.Fatal(err)
	}
	again := schematest.Connect(t, pgbouncer(t, url)+"&default_query_exec_mode=exec")
	if err := schema.Migrate(t.Context(), again, "public", nil); err != nil {
		t.Fatal(err)
	}
	if !is(`select count(*) = 4 and bool_and(indisvalid) from pg_index where indexrelid::regclass::text like 'ebb_jobs_%'`) {
		t.Error("an index is missing or invalid")
	}
	if version, _, err := schema.Current(t.Context(), again, "public"); err != nil || version != schema.Version {
		t.Errorf("version %d, %v", version, err)
	}
	var timeout string
	if err := again.QueryRow(t.Context(), `show lock_timeout`).Scan(&timeout); err != nil || timeout != "0" {
		t.Errorf("a setting is left in the server's session: lock_timeout %s, %v", timeout, err)
	}
}
