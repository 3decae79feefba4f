package schema_test

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain lets a test start this binary again as a process that does nothing but migrate, to be killed.
func TestMain(m *testing.M) {
	if url := os.Getenv("SCHEMA_TEST_MIGRATE_URL"); url != "" {
		os.Exit(migrateAsProcess(url, os.Getenv("SCHEMA_TEST_MIGRATE_SCHEMA")))
	}
	os.Exit(m.Run())
}

func migrateAsProcess(url, name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		err = schema.Migrate(ctx, conn, name, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	if err != nil {
		slog.Error("migrate", "error", err)
		return 1
	}
	return 0
}

func migrate(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	if err := schema.Migrate(t.Context(), conn, name, nil); err != nil {
		t.Fatalf("migrate schema %q: %v", name, err)
	}
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func get[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func wantVersion(t *testing.T, conn *pgx.Conn, name string, want int) {
	t.Helper()
	got, _, err := schema.Current(t.Context(), conn, name)
	if err != nil || got != want {
		t.Fatalf("schema %q is at version %d (%v), want %d", name, got, err, want)
	}
}

// quoted is a schema name as SQL writes it.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
