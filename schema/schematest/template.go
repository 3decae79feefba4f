package schematest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/schema"
)

const (
	// pristine is the template that every server has, and that nobody has added anything to.
	pristine = "template0"
	// patience bounds each piece of work on the server. It is long because machines that run tests can be busy.
	patience = time.Minute
)

// copyOf is the statement that makes a database. Copying files is several times faster than the default for databases
// as small as these. Everything copied comes from pristine, so the encoding may be chosen: the server may have another.
func copyOf(template, name string) string {
	return fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C'",
		name, template)
}

// migrated is the name of the template with ebb's tables. A process makes or finds it once.
var migrated = sync.OnceValues(func() (string, error) {
	server, err := server()
	if err != nil {
		return "", err
	}
	migrations, err := schema.SQL("ebb")
	if err != nil {
		return "", err
	}
	return template(server, migrations, func(ctx context.Context, conn *pgx.Conn) error {
		return schema.Migrate(ctx, conn, "ebb", slog.New(slog.DiscardHandler))
	})
})

// template returns the name of a database made by fill, which what stands for. It makes it where the server has none:
// under a lock, because other processes want the same one, and under another name until it is finished, because one of
// them may be killed.
func template(server, what string, fill func(context.Context, *pgx.Conn) error) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)

	// Only its owner may copy a template, so each role has its own.
	var role string
	if err := conn.QueryRow(ctx, "SELECT current_user").Scan(&role); err != nil {
		return "", err
	}
	name := fmt.Sprintf("ebb_template_%.8x", sha256.Sum256([]byte(role+"\x00"+what)))
	if _, err := conn.Exec(ctx, "SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended($1, 0))", name); err != nil {
		return "", err
	}
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return name, err
	}

	unfinished := name + "_new"
	for _, step := range []func() error{
		exec(ctx, conn, "DROP DATABASE IF EXISTS "+unfinished+" WITH (FORCE)"),
		exec(ctx, conn, copyOf(pristine, unfinished)),
		func() error { return inside(ctx, at(server, unfinished), fill) },
		// A database that somebody is connected to cannot be copied.
		exec(ctx, conn, "ALTER DATABASE "+unfinished+" ALLOW_CONNECTIONS false"),
		exec(ctx, conn, "ALTER DATABASE "+unfinished+" RENAME TO "+name),
	} {
		if err := step(); err != nil {
			return "", err
		}
	}
	return name, nil
}

func exec(ctx context.Context, conn *pgx.Conn, sql string) func() error {
	return func() error {
		return again(ctx, func() error {
			_, err := conn.Exec(ctx, sql)
			return err
		})
	}
}

func inside(ctx context.Context, url string, fill func(context.Context, *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(fill(ctx, conn), conn.Close(ctx))
}

// again repeats what fails because a session is in a database that must have none (55006): one that was closed takes a
// moment to be gone, and autovacuum looks in where it likes.
func again(ctx context.Context, do func() error) error {
	for {
		err := do()
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "55006" {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
