package schema_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schema"
)

// A prepared transaction has no session, and nobody sees it in a list of them: wherever one is in the way, its name is
// told, with which it can be ended.
func TestPreparedTransaction(t *testing.T) {
	t.Parallel()
	server, err := local.Start(t.Context(), local.Options{Settings: map[string]string{"max_prepared_transactions": "5", "fsync": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), server.URL())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn, other := connect(), connect()
	defer conn.Close(t.Context())
	defer other.Close(t.Context())
	for name, c := range map[string]struct{ before, prepared, says string }{
		"adopts":       {`create table s.jobs (` + article + `)`, `insert into s.jobs (payload) values ('{}')`, "could not get the lock"},
		"wants to":     {"", `lock table s.jobs in share mode`, "kept out by"},
		"waits for it": {"", `insert into s.jobs (payload) values ('{}')`, "in vain"},
	} {
		run(t, other, `create schema s`)
		if c.before != "" {
			run(t, other, c.before)
		} else {
			migrate(t, other, "s")
			run(t, other, `drop index s.ebb_jobs_due`)
		}
		run(t, other, `begin; `+c.prepared+`; prepare transaction 'it''s left'`)
		err := schema.MigrateWithin(t.Context(), conn, "s", slog.New(slog.DiscardHandler), 2*time.Second)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "the prepared transaction 'it''s left' (user ") {
			t.Errorf("%s: got %v, want %q and the transaction's name", name, err, c.says)
		}
		run(t, other, `commit prepared 'it''s left'`)
		migrate(t, conn, "s")
		wantVersion(t, conn, "s", schema.Version)
		run(t, other, `drop schema s cascade`)
	}
}
