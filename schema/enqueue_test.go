package schema_test

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestEnqueue(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	migrate(t, conn, "ebb")
	run(t, conn, `set search_path = ''`)
	id := func(call string) *int64 { t.Helper(); return get[*int64](t, conn, `select `+call) }

	if got := id(`ebb.enqueue('q', '{"a": 1}')`); got == nil || *got != 1 {
		t.Fatalf("first id %v", got)
	}
	first := id(`ebb.enqueue('q', '1', unique_key => 'k')`)
	if first == nil {
		t.Fatal("a free key was taken for one in use")
	}
	if got := id(`ebb.enqueue('q', '2', unique_key => 'k')`); got != nil {
		t.Errorf("a queued job's key was given again: id %d", *got)
	}
	if got := id(`ebb.enqueue('other', '3', unique_key => 'k')`); got == nil {
		t.Error("the key of one queue was taken for that of another")
	}
	run(t, conn, `update ebb.jobs set status = 'running' where unique_key = 'k'`)
	if got := id(`ebb.enqueue('q', '4', unique_key => 'k')`); got != nil {
		t.Errorf("a running job's key was given again: id %d", *got)
	}
	run(t, conn, `update ebb.jobs set status = 'done' where unique_key = 'k'`)
	if got := id(`ebb.enqueue('q', '5', unique_key => 'k')`); got == nil {
		t.Error("a finished job's key was not given again")
	}

	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	last := get[int64](t, conn, `select ebb.enqueue('q', '6', $1, max_attempts => 2)`, at)
	if got := get[time.Time](t, conn, `select run_at from ebb.jobs where id = $1 and max_attempts = 2`, last); !got.Equal(at) {
		t.Errorf("run_at is %v, want %v", got, at)
	}
	last = get[int64](t, conn, `select ebb.enqueue('q', '7', null, null, null)`)
	if !get[bool](t, conn, `select run_at <= now() and max_attempts = 5 and unique_key is null from ebb.jobs where id = $1`, last) {
		t.Error("a null run_at and max_attempts are not the defaults")
	}
}
