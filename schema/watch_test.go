package schema_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// within is the most that a build takes to end in these tests: patience, the look that is under way, the pause before it
// and the cancel, with room for a machine that is busy. Without an end of its own it would wait as long as the snapshot.
const within = 30 * time.Second

// held is a large table in the schema s whose indexes wait for a snapshot that is never given up; it gives the database
// and the snapshot's session.
func held(t *testing.T) (database string, pid string) {
	t.Helper()
	database = schematest.Direct(schematest.Empty(t)) // it ends sessions of the server's
	conn, snapshot := schematest.Connect(t, database), schematest.Connect(t, database)
	run(t, conn, `create schema s; create table s.jobs (`+article+`); insert into s.jobs (payload) select '{}' from generate_series(1, 1000)`)
	run(t, snapshot, `set application_name = 'nightly dump'; begin isolation level repeatable read; select 1`)
	return database, get[string](t, snapshot, `select 'pid ' || pg_backend_pid()`)
}

// end waits for the end of a migration.
func end(t *testing.T, migration <-chan error) error {
	t.Helper()
	select {
	case err := <-migration:
		return err
	case <-time.After(within):
		t.Fatal("the migration does not end")
		return nil
	}
}

// The second connection may be ended at any time, once or whenever it is there: the time that the build may wait goes on.
func TestWatchIsEnded(t *testing.T) {
	for name, always := range map[string]bool{"once": false, "always": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, pid := held(t)
			conn, admin := schematest.Connect(t, database), schematest.Connect(t, database)
			migration := make(chan error, 1)
			go func() { migration <- schema.MigrateLarge(t.Context(), conn, "s", nil, 3*time.Second) }()
			ended := 0
			for deadline := time.Now().Add(within); len(migration) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				if ended == 0 || always {
					ended += get[int](t, admin, `select count(pg_terminate_backend(pid)) from pg_stat_activity
						where datname = current_database() and pid <> pg_backend_pid() and query like '%pg_blocking_pids%'`)
				}
			}
			err := end(t, migration)
			if err == nil || !strings.Contains(err.Error(), "in vain, blocked by "+pid) && !(always && strings.Contains(err.Error(), "could not be looked at")) {
				t.Errorf("got %v, want it to name %s", err, pid)
			}
			if ended == 0 {
				t.Error("no second connection was there to be ended")
			}
			if err := conn.Ping(t.Context()); err != nil {
				t.Errorf("the first connection is gone: %v", err)
			}
		})
	}
}

// oneOnly gives the URL of a database through a port that hands on the first connection and holds all later ones without
// a word: those of cancels, too.
func oneOnly(t *testing.T, database string) (through string, later *atomic.Int32) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	server := u.Host
	later = &atomic.Int32{}
	go func() {
		for first := true; ; first = false {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if !first {
				later.Add(1)
				go func() { defer client.Close(); io.Copy(io.Discard, client) }()
				continue
			}
			go func() {
				defer client.Close()
				conn, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer conn.Close()
				go func() { defer conn.Close(); io.Copy(conn, client) }()
				io.Copy(client, conn)
			}()
		}
	}()
	u.Host, u.RawQuery = listener.Addr().String(), "sslmode=disable"
	return u.String(), later
}

// Where there is but one connection to be had, as through a pooler with one, the build ends all the same: in vain after
// the time that is set for that, and soon when it is stopped. Then nothing uses the connection any more.
func TestOneConnectionOnly(t *testing.T) {
	for name, stop := range map[string]bool{"in vain": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, _ := held(t)
			through, later := oneOnly(t, database)
			conn, err := pgx.Connect(t.Context(), through)
			if err != nil {
				t.Fatal(err)
			}
			patience := 2 * time.Second
			if stop {
				patience = time.Hour
			}
			var log bytes.Buffer
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			migration := make(chan error, 1)
			go func() {
				migration <- schema.MigrateLarge(ctx, conn, "s", slog.New(slog.NewTextHandler(&log, nil)), patience)
			}()
			for deadline := time.Now().Add(within); later.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no second connection was tried")
				}
			}
			reason := errors.New("a signal")
			if stop {
				cancel(reason)
			}
			err = end(t, migration)
			if stop && !errors.Is(err, reason) || !stop && !strings.Contains(err.Error(), "in vain, blocked by sessions that could not be looked at") {
				t.Errorf("got %v", err)
			}
			if !stop && !strings.Contains(log.String(), "no second connection") {
				t.Errorf("it is not said:\n%s", &log)
			}
			// The cancel had no answer, so the connection was closed: under the race detector this is a use beside the
			// build's if that is still at it.
			if !conn.IsClosed() {
				t.Error("the connection is still open")
			}
			conn.Close(t.Context())
		})
	}
}

// A build whose session is no longer at it is not taken for one at work, and is not waited for without end.
func TestBuildIsNotSeen(t *testing.T) {
	t.Parallel()
	database, _ := held(t)
	conn := schematest.Connect(t, database)
	run(t, conn, `set track_activities = off`) // nor is one that is not shown
	migration := make(chan error, 1)
	go func() { migration <- schema.MigrateLarge(t.Context(), conn, "s", nil, 2*time.Second) }()
	err := end(t, migration)
	if err == nil || !strings.Contains(err.Error(), "in vain, blocked by sessions that could not be looked at") {
		t.Errorf("got %v", err)
	}
}
