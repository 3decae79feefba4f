// Package schematest gives every test a database of its own.
//
//	func TestClaim(t *testing.T) {
//		conn := schematest.Connect(t, schematest.New(t))
//		...
//	}
//
// The databases are on the server that DATABASE_URL names; its role must be allowed to create databases. Where it is
// not set, the first test that asks starts a server for its process, which goes away with the process (see package
// local). Where there is none to start, the test fails: it is never skipped.
//
// A migrated database is a copy of a template, which costs a few hundredths of a second. The template is made by the
// first process that needs it and stays on the server, named ebb_template_ and a hash of the migrations: on a server of
// one's own, one database of 8 MB for each state that the migrations were ever tested in. It is safe to drop at any
// time when no test runs.
//
// Where TEST_POOLER is set (host:port), the URLs lead through it: through a PgBouncer, say, that stands before the server
// of DATABASE_URL and hands its databases on under any name. Whatever is tested gets at its database that way. What a
// pooler in transaction mode cannot do, a test does past it, by Connect or [Direct], or is skipped; go test -v shows which.
//
// Roles belong to the server, not to a database: a test that makes some names them after its database, and drops them.
package schematest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// New returns the URL of a fresh database with ebb's tables in the schema ebb. The database is dropped at the end of
// the test, whoever is connected.
func New(t testing.TB) string {
	t.Helper()
	server := Server(t)
	template, err := migrated()
	if err != nil {
		t.Fatalf("make a template to copy databases from: %v", err)
	}
	return pooled(create(t, server, template))
}

// Empty is New without the tables: the database has nothing in it.
func Empty(t testing.TB) string {
	t.Helper()
	return pooled(create(t, Server(t), pristine))
}

// Connect connects for as long as the test runs: directly, for it is there to look at what ebb did.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), Direct(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn.Close(ctx)
	})
	return conn
}

// Server returns the URL of the server's maintenance database, for tests that need roles. All tests of this process
// share the server, and others may: one that stops it or changes its settings wants [local.Start] and its own.
func Server(t testing.TB) string {
	t.Helper()
	server, err := server()
	if err != nil {
		t.Fatalf("no postgres to test with: %v", err)
	}
	return server
}

func create(t testing.TB, server, template string) string {
	t.Helper()
	// Unique among all processes that use the server.
	name := "ebb_test_" + strings.ToLower(rand.Text()[:16])
	if err := do(server, copyOf(template, name)); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := do(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return at(server, name)
}

// at is the URL of another database of the server. It has parameters in any case, so that a test may add some with an &.
func at(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(fmt.Sprintf("server checks this: %v", err))
	}
	u.Path = "/" + database
	if u.RawQuery == "" {
		u.RawQuery = "sslmode=prefer" // what applies without it
	}
	return u.String()
}
