package cli

import (
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// A table of another role's is adopted only by who names that role: what it has put on the table runs with every job.
func TestAdoptAnothersTable(t *testing.T) {
	ada := roleName(t)
	url := schematest.Empty(t)
	db := schematest.Connect(t, url)
	do(t, db, `create role `+ada+`; grant all on schema public to `+ada+`; set role `+ada)
	do(t, db, `create table public.jobs (id bigserial primary key, queue text, payload jsonb, status text, run_at timestamptz, attempts int,
		max_attempts int, locked_until timestamptz, last_error text, created_at timestamptz)`)
	do(t, db, `create function public.hers() returns trigger language plpgsql as $$begin return new; end$$;
		create trigger hers before update on public.jobs for each row execute function public.hers()`)
	do(t, db, `reset role`)
	s := setup{env: map[string]string{"DATABASE_URL": url, "EBB_SCHEMA": "public"}}
	for _, args := range [][]string{{"migrate"}, {"migrate", "--owner", "somebody"}} {
		if i := s.ebb(args...); i.status != 78 || !strings.Contains(i.stderr, ada) || !strings.Contains(i.stderr, "ebb migrate --owner "+ada) {
			t.Errorf("%v: exit %d\n%s%s", args, i.status, i.stdout, i.stderr)
		}
	}
	if n := text(t, db, `select count(*)::text from pg_attribute where attrelid = 'public.jobs'::regclass and attnum > 0`); n != "10" {
		t.Errorf("the refused table has %s columns", n)
	}
	for _, args := range [][]string{{"migrate", "--owner", ada}, {"migrate"}} {
		if i := s.ebb(args...); i.status != 0 {
			t.Errorf("%v: exit %d\n%s%s", args, i.status, i.stdout, i.stderr)
		}
	}
}
