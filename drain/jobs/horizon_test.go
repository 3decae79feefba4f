package jobs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain/jobs"
	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func do(t *testing.T, db *pgx.Conn, sql string) {
	t.Helper()
	if _, err := db.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func look(t *testing.T, db *pgx.Conn) jobs.Status {
	t.Helper()
	s, err := jobs.Look(t.Context(), db, "ebb", 5)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lookUntil looks until the server's statistics, which come late, and the sessions are as they should be.
func lookUntil(t *testing.T, db *pgx.Conn, what string, seen func(jobs.Horizon) bool) jobs.Horizon {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		h := look(t, db).Horizon
		if seen(h) {
			return h
		}
		if time.Now().After(deadline) {
			t.Fatalf("not seen: %s: %+v, held by %+v", what, h, h.Holder)
		}
	}
}

func holds(kind, application string) func(jobs.Horizon) bool {
	return func(h jobs.Horizon) bool {
		return h.Holder != nil && h.Holder.Kind == kind && h.Holder.Application == application
	}
}

// Who has the oldest snapshot is named, whatever kind of holder it is, and so is what it keeps.
func TestHorizon(t *testing.T) {
	server, err := local.Start(t.Context(), local.Options{Settings: map[string]string{"max_prepared_transactions": "5", "fsync": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	url := server.URL()
	db := schematest.Connect(t, url)
	if err := schema.Migrate(t.Context(), db, "ebb", nil); err != nil {
		t.Fatal(err)
	}
	if h := look(t, db).Horizon; h.Holder != nil || !h.SeesAll || h.Hidden != 0 || h.Bytes == nil || *h.Bytes == 0 {
		t.Errorf("%+v, held by %+v", h, h.Holder)
	}

	// A dump began first; then others, none of which is the oldest before those older have gone.
	dump := schematest.Connect(t, url)
	do(t, dump, `set application_name = 'nightly dump'; begin isolation level repeatable read; select 1`)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 300); update ebb.jobs set attempts = 1`)
	younger := schematest.Connect(t, url)
	do(t, younger, `set application_name = 'younger'; begin isolation level repeatable read; select 1`)
	h := lookUntil(t, db, "the dead rows", func(h jobs.Horizon) bool { return h.Dead != nil && *h.Dead >= 300 })
	if !holds("session", "nightly dump")(h) {
		t.Fatalf("held by %+v", h.Holder)
	}
	o := h.Holder
	if o.PID == nil || *o.PID != int32(dump.PgConn().PID()) || o.User == "" || o.State != "idle in transaction" || o.Since == nil ||
		time.Since(*o.Since).Abs() > time.Hour || o.Transactions < 1 {
		t.Errorf("%+v", o)
	}
	do(t, dump, `commit`)
	lookUntil(t, db, "the younger one", holds("session", "younger"))
	do(t, younger, `commit`)

	writer := schematest.Connect(t, url)
	do(t, writer, `set application_name = 'writer'; begin; insert into ebb.jobs (payload) values ('{}')`)
	lookUntil(t, db, "a transaction without a snapshot", holds("session", "writer"))
	do(t, writer, `prepare transaction 'two phases'`)
	h = lookUntil(t, db, "the prepared transaction", holds("prepared transaction", ""))
	if o := h.Holder; o.Name != "two phases" || o.PID != nil || o.Since == nil || o.User == "" {
		t.Errorf("%+v", o)
	}
	do(t, writer, `commit prepared 'two phases'`)

	standby := feedback(t, url, db, "")
	h = lookUntil(t, db, "the standby", holds("standby", "receiver"))
	if h.Holder.PID == nil {
		t.Errorf("%+v", h.Holder)
	}
	standby.Close(t.Context())
	feedback(t, url, db, "of_old").Close(t.Context())
	h = lookUntil(t, db, "the slot without its standby", func(h jobs.Horizon) bool {
		return holds("replication slot", "")(h) && h.Holder.State == "inactive"
	})
	if o := h.Holder; o.Name != "of_old" || o.PID != nil || o.Since != nil {
		t.Errorf("%+v", o)
	}
	do(t, db, `select pg_drop_replication_slot('of_old')`)
	lookUntil(t, db, "nobody", func(h jobs.Horizon) bool { return h.Holder == nil })
}

// feedback is a standby that says which transaction its own sessions may still look at: the next one.
func feedback(t *testing.T, url string, db *pgx.Conn, slot string) *pgconn.PgConn {
	t.Helper()
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["replication"], config.RuntimeParams["application_name"] = "true", "receiver"
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	named := ""
	if slot != "" {
		do(t, db, `select pg_create_physical_replication_slot('`+slot+`')`)
		named = "SLOT " + slot + " "
	}
	var wal string
	var xid uint32
	if err := db.QueryRow(t.Context(), `select pg_current_wal_flush_lsn()::text, (txid_current() & 4294967295)::bigint`).Scan(&wal, &xid); err != nil {
		t.Fatal(err)
	}
	conn.Frontend().Send(&pgproto3.Query{String: "START_REPLICATION " + named + "PHYSICAL " + wal})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	if m, err := conn.ReceiveMessage(t.Context()); err != nil {
		t.Fatal(err)
	} else if _, ok := m.(*pgproto3.CopyBothResponse); !ok {
		t.Fatalf("the server answers %#v", m)
	}
	message := append([]byte{'h'}, make([]byte, 8)...) // no time
	message = binary.BigEndian.AppendUint32(message, xid)
	message = append(message, make([]byte, 12)...) // epoch; no catalog_xmin
	conn.Frontend().Send(&pgproto3.CopyData{Data: message})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	if slot != "" {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			var arrived bool
			if err := db.QueryRow(t.Context(), `select xmin is not null from pg_replication_slots where slot_name = $1`, slot).Scan(&arrived); err != nil {
				t.Fatal(err)
			}
			if arrived {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the slot has no xmin")
			}
		}
	}
	return conn
}

// What a role may not see is unknown, and never clean.
func TestHorizonWithoutPrivileges(t *testing.T) {
	url := schematest.New(t)
	db, dump := schematest.Connect(t, url), schematest.Connect(t, url)
	role := fmt.Sprintf("ebb_test_%d", rand.Uint64())
	do(t, db, `create role `+role+`; grant usage on schema ebb to `+role+`; grant select on all tables in schema ebb to `+role)
	defer func() { do(t, db, `reset role; drop owned by `+role+`; drop role `+role) }()
	do(t, dump, `begin isolation level repeatable read; select 1`)
	do(t, db, `set role `+role)
	h := look(t, db).Horizon
	if h.SeesAll || h.Hidden < 1 || h.Holder != nil || h.Role != role {
		t.Errorf("%+v, held by %+v", h, h.Holder)
	}
}

// The skew of the two clocks, within what one exchange can tell.
func TestSkew(t *testing.T) {
	db := schematest.Connect(t, schematest.New(t))
	began := time.Now()
	s := look(t, db).Skew
	if took := time.Since(began); s.Least > 0 || s.Most < 0 || s.Most-s.Least > took {
		t.Errorf("of one machine's one clock, in %v: %+v", took, s)
	}
	for _, c := range []struct {
		least, most, want time.Duration
	}{
		{-10 * time.Millisecond, 20 * time.Millisecond, 0},
		{10 * time.Minute, 10*time.Minute + 2*time.Second, 10*time.Minute + time.Second},
		{-10*time.Minute - 2*time.Second, -10 * time.Minute, -10*time.Minute - time.Second},
		{-time.Second, 10 * time.Second, 0}, // nothing is certain
		{2 * time.Second, 3 * time.Second, 0},
	} {
		if got := (jobs.Skew{Least: c.least, Most: c.most}).Over(2 * time.Second); got != c.want {
			t.Errorf("%v to %v: %v, want %v", c.least, c.most, got, c.want)
		}
	}
}

// The statement goes for every name of a schema, and tells of this one's table only.
func TestHorizonOfOddSchema(t *testing.T) {
	db := schematest.Connect(t, schematest.New(t))
	const name = `o'brien a$$b."x`
	if err := schema.Migrate(t.Context(), db, name, nil); err != nil {
		t.Fatal(err)
	}
	do(t, db, `insert into `+pgx.Identifier{name}.Sanitize()+`.jobs (payload) select to_jsonb(repeat('x', 1000)) from generate_series(1, 1000)`)
	s, err := jobs.Look(t.Context(), db, name, 5)
	if err != nil || s.Horizon.Bytes == nil || *s.Horizon.Bytes < 100_000 || strings.Contains(fmt.Sprint(s.Queues), "ebb") {
		t.Errorf("%+v, %v", s, err)
	}
}
