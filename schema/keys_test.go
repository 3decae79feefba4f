package schema_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

const twice = `insert into s.jobs (queue, payload, unique_key) values ('a', '{}', 'k'), ('b', '{}', 'k'), ('a', '{}', 'k')`

func wantSameKeys(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, schema.ErrRefused) || !strings.Contains(err.Error(), "have the same unique_key") {
		t.Errorf("got %v, want a refusal for the keys", err)
	}
}

// Two queued or running jobs of one key are found before a table is changed, whatever its size, and only those.
func TestSameKeys(t *testing.T) {
	t.Parallel()
	conn := schematest.Connect(t, schematest.Empty(t))
	for name, adopt := range map[string]func() error{
		"small": func() error { return schema.Migrate(t.Context(), conn, "s", nil) },
		"large": func() error { return schema.MigrateLarge(t.Context(), conn, "s", nil, time.Minute) },
	} {
		run(t, conn, `drop schema if exists s cascade; create schema s; create table s.jobs (`+article+`, unique_key text);
			insert into s.jobs (payload, unique_key, status) values ('{}', 'k', 'done'), ('{}', 'k', 'failed'), ('{}', null, 'queued'), ('{}', null, 'queued');`+twice)
		before := dump(t, conn, "s")
		err := adopt()
		wantSameKeys(t, err)
		if err == nil || !strings.Contains(err.Error(), "ids 5 and 7;") {
			t.Errorf("%s: got %v, want the ids of the two", name, err)
		}
		if after := dump(t, conn, "s"); after != before {
			t.Errorf("%s: it was changed to\n%s", name, after)
		}
		run(t, conn, `update s.jobs set status = 'done' where id = 7`)
		if err := adopt(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Those that come after the look are refused in the same words: by a small table whose adoption waited for their insert,
// and by a large one that is on its way.
func TestSameKeysLate(t *testing.T) {
	t.Parallel()
	url := schematest.Empty(t)
	a, b, watch := schematest.Connect(t, url), schematest.Connect(t, url), schematest.Connect(t, url)
	run(t, watch, `create schema s; create table s.jobs (`+article+`, unique_key text)`)
	run(t, a, `begin; `+twice)
	migration := make(chan error, 1)
	go func() { migration <- schema.Migrate(t.Context(), b, "s", nil) }()
	waitForWaiter(t, watch)
	run(t, a, `commit`)
	wantSameKeys(t, <-migration)
	wantVersion(t, watch, "s", 0)

	run(t, watch, `truncate s.jobs`)
	run(t, a, `begin isolation level repeatable read; select 1`)
	if err := schema.MigrateLarge(t.Context(), b, "s", nil, time.Second); err == nil {
		t.Error("the snapshot was not waited for")
	}
	run(t, a, `commit`)
	run(t, watch, `do $$ declare i text; begin for i in select indexrelid::regclass from pg_index where not indisvalid loop execute 'drop index ' || i; end loop; end $$`)
	run(t, watch, `drop index if exists s.ebb_jobs_taken; `+twice)
	wantSameKeys(t, schema.MigrateLarge(t.Context(), b, "s", nil, time.Minute))
	run(t, watch, `delete from s.jobs`)
	migrateLarge(t, b, "s")
	wantVersion(t, watch, "s", schema.Version)
}
