package schema_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Who waits for another migration says so, with its name, and gives up after a limit.
func TestWaitsForAnother(t *testing.T) {
	t.Parallel()
	url := schematest.Empty(t)
	a, b := schematest.Connect(t, url), schematest.Connect(t, url)
	run(t, a, `set application_name = 'the other'`)
	run(t, a, `begin`)
	get[any](t, a, `select pg_advisory_xact_lock($1)`, schema.LockKey("ebb"))
	pid := get[string](t, a, `select 'pid ' || pg_backend_pid()`)

	var log bytes.Buffer
	err := schema.MigrateWithin(t.Context(), b, "ebb", slog.New(slog.NewTextHandler(&log, nil)), time.Second)
	for what, text := range map[string]string{"error": err.Error(), "log": strings.ReplaceAll(log.String(), `\"`, `"`)} {
		if !strings.Contains(text, pid) || !strings.Contains(text, "the other") {
			t.Errorf("the %s does not name %s: %s", what, pid, text)
		}
	}
	if n := strings.Count(log.String(), "waiting"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	if errors.Is(err, schema.ErrRefused) {
		t.Error("waiting in vain is no mistake of the user's")
	}
	migrate(t, b, "other") // another schema waits for no one

	run(t, a, `rollback`)
	migrate(t, b, "ebb")
}

// A long reader of a table that has to be changed. Who comes after is held up no longer than the lock's time-out,
// and in the end the reader is named and nothing is changed.
func TestLongReader(t *testing.T) {
	url := schematest.Empty(t)
	a, b, c := schematest.Connect(t, url), schematest.Connect(t, url), schematest.Connect(t, url)
	run(t, a, `create schema s; create table s.jobs (`+article+`); set application_name = 'nightly dump'`)
	run(t, a, `begin; select count(*) from s.jobs`)
	pid := get[string](t, a, `select 'pid ' || pg_backend_pid()`)
	before := dump(t, c, "s")

	end := make(chan error, 1)
	go func() { end <- schema.MigrateWithin(t.Context(), b, "s", slog.New(slog.DiscardHandler), time.Second) }()
	run(t, c, `set statement_timeout = '1s'`)
	var err error
	for waiting := true; waiting; {
		run(t, c, `insert into s.jobs (queue, payload) values ('q', '{}')`)
		select {
		case err = <-end:
			waiting = false
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err == nil || !strings.Contains(err.Error(), "could not get the lock, blocked by "+pid) || !strings.Contains(err.Error(), "nightly dump") {
		t.Errorf("got %v, want it to name %s", err, pid)
	}
	if after := dump(t, c, "s"); after != before {
		t.Errorf("the schema was changed to\n%s", after)
	}
	run(t, a, `commit`)
	migrate(t, b, "s")
	wantVersion(t, c, "s", schema.Version)
}

// The same for a name that another session has created and not committed: it is in the way, and it is named.
func TestUncommittedCreate(t *testing.T) {
	t.Parallel()
	url := schematest.Empty(t)
	a, b := schematest.Connect(t, url), schematest.Connect(t, url)
	run(t, a, `begin; create schema s`)
	pid := get[string](t, a, `select 'pid ' || pg_backend_pid()`)
	err := schema.MigrateWithin(t.Context(), b, "s", slog.New(slog.DiscardHandler), 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "blocked by "+pid) {
		t.Errorf("got %v, want it to name %s", err, pid)
	}
	if errors.Is(err, pgx.ErrTxClosed) {
		t.Error(err)
	}
}
