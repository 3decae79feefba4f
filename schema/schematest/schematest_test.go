package schematest_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

func get[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var got T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

func name(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

const (
	isThere  = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	hasTable = "SELECT to_regclass($1) IS NOT NULL"
)

func TestNew(t *testing.T) {
	a, b := schematest.New(t), schematest.New(t)
	if a == b {
		t.Fatal("two tests got one database")
	}
	inA, inB := schematest.Connect(t, a), schematest.Connect(t, b)
	if _, err := inA.Exec(t.Context(), `INSERT INTO ebb.jobs (queue, payload) VALUES ('email', '{}')`); err != nil {
		t.Fatal(err)
	}
	if n := get[int](t, inB, "SELECT count(*) FROM ebb.jobs"); n != 0 {
		t.Errorf("a job of one database is in another: %d", n)
	}
	if got := get[string](t, inA, "SHOW server_encoding"); got != "UTF8" {
		t.Errorf("the encoding is %s", got)
	}
}

func TestEmpty(t *testing.T) {
	conn := schematest.Connect(t, schematest.Empty(t))
	if get[bool](t, conn, hasTable, "ebb.jobs") {
		t.Error("there are tables")
	}
}

func TestDropped(t *testing.T) {
	server := schematest.Connect(t, schematest.Server(t))
	for what, make := range map[string]func(testing.TB) string{"New": schematest.New, "Empty": schematest.Empty} {
		var database string
		t.Run(what, func(t *testing.T) {
			database = make(t)
			if !get[bool](t, server, isThere, name(t, database)) {
				t.Fatal("it is not there")
			}
			// A session that nobody closes is in nobody's way.
			conn, err := pgx.Connect(t.Context(), database)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := conn.Ping(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
		if get[bool](t, server, isThere, name(t, database)) {
			t.Errorf("%s: it is still there", what)
		}
	}
}

// Everything that tests of one package do at once, and those of several.
func TestAtOnce(t *testing.T) {
	for range 12 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			conn := schematest.Connect(t, schematest.New(t))
			if !get[bool](t, conn, hasTable, "ebb.jobs") {
				t.Error("there are no tables")
			}
		})
	}
}

func TestClone(t *testing.T) {
	schematest.New(t)
	var took time.Duration
	const n = 5
	for range n {
		began := time.Now()
		schematest.New(t)
		took += time.Since(began)
	}
	t.Logf("a migrated database in %v", took/n)
}

// The second process of a server finds what the first one made, and a role that may create databases is enough.
func TestDatabaseURL(t *testing.T) {
	database := schematest.Empty(t)
	server := schematest.Connect(t, schematest.Server(t))
	role := name(t, database)
	if _, err := server.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN CREATEDB PASSWORD 'secret'"); err != nil {
		t.Fatal(err)
	}
	var template string
	t.Cleanup(func() {
		for _, sql := range []string{"DROP DATABASE IF EXISTS " + template, "DROP ROLE " + role} {
			if _, err := server.Exec(context.Background(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
	u, err := url.Parse(schematest.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "secret")

	for range 2 {
		out, err := process(u.String(), "^(TestNew|TestEmpty|TestDropped|TestAtOnce)$")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		left := get[[]string](t, server, "SELECT array_agg(datname::text) FROM pg_database "+
			"WHERE datdba = $1::regrole", role)
		if len(left) != 1 || !strings.HasPrefix(left[0], "ebb_template_") || template != "" && left[0] != template {
			t.Fatalf("left on the server: %q, want one template, the same each time (%q)", left, template)
		}
		template = left[0]
	}
}

func TestNoServer(t *testing.T) {
	for _, test := range []struct{ name, url, want string }{
		{"nobody there", "postgres://ann:secret@127.0.0.1:1/postgres", "127.0.0.1:1"},
		{"no URL", "host=127.0.0.1 password=secret", "set it to one such as postgres://"},
		{"damaged URL", "postgres://ann:secret@127.0.0.1:port/", "set it to one such as postgres://"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := process(test.url, "^(TestNew|TestEmpty)$")
			if err == nil || strings.Count(out, "--- FAIL") != 2 || !strings.Contains(out, test.want) {
				t.Errorf("got %v, want two tests failed for %q:\n%s", err, test.want, out)
			}
			if strings.Contains(out, "secret:") || strings.Contains(out, "=secret") {
				t.Errorf("the password is shown:\n%s", out)
			}
		})
	}
}

// TestPooled is run in processes of its own, with a pooler that nobody is behind: only what goes past it gets anywhere.
func TestPooled(t *testing.T) {
	const nobody = "127.0.0.1:1"
	if !schematest.IsPooled() {
		if out, err := process(schematest.Server(t), "^TestPooled$", "TEST_POOLER="+nobody); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		out, err := process("", "^TestPooled$", "TEST_POOLER="+nobody)
		if err == nil || !strings.Contains(out, "TEST_POOLER is set and DATABASE_URL is not") {
			t.Errorf("a pooler without a server: %v\n%s", err, out)
		}
		return
	}
	for what, database := range map[string]string{"New": schematest.New(t), "Empty": schematest.Empty(t)} {
		if u, err := url.Parse(database); err != nil || u.Host != nobody {
			t.Errorf("%s does not lead through the pooler: %s, %v", what, u.Host, err)
		}
		conn := schematest.Connect(t, database)
		if got, want := get[string](t, conn, "SELECT current_database()"), name(t, database); got != want {
			t.Errorf("%s: connected to %s, want %s", what, got, want)
		}
		if got := schematest.Direct(schematest.Direct(database)); got != schematest.Direct(database) || got == database {
			t.Errorf("%s: past the pooler twice", what)
		}
	}
	const elsewhere = "postgres://somebody@db.example/jobs"
	if got := schematest.Direct(elsewhere); got != elsewhere {
		t.Errorf("a URL of somebody else's became %s", got)
	}
}

// process runs tests of this package in another process, with another server.
func process(server, tests string, environ ...string) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", tests)
	cmd.Env = append(append(os.Environ(), "DATABASE_URL="+server), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
