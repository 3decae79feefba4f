package schematest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
)

// given is read before any test can set the variable for the program that it tests.
var given = os.Getenv("DATABASE_URL")

// running is kept here because a server stops when nobody keeps it.
var running *local.Server

// server is the URL of the server for this process. It is found once: where it fails, every test says why.
var server = sync.OnceValues(func() (string, error) {
	_ = os.Getenv("DATABASE_URL") // asked again while tests run: the cache of test results takes note only then
	if given != "" {
		u, err := url.Parse(given)
		// The text of err has the URL in it, and that has a password.
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return "", errors.New("DATABASE_URL is no URL: set it to one such as " +
				"postgres://user:password@127.0.0.1:5432/postgres, or unset it")
		}
		return given, nil
	}
	if pooler != "" {
		return "", errors.New("TEST_POOLER is set and DATABASE_URL is not: name the server that the pooler stands before")
	}
	var err error
	// Nothing in it has to survive the machine; and tests of a package run side by side.
	running, err = local.Start(context.Background(), local.Options{Settings: map[string]string{
		"fsync":              "off",
		"full_page_writes":   "off",
		"synchronous_commit": "off",
		"max_connections":    "200",
	}})
	if err != nil {
		return "", fmt.Errorf("%w; or set DATABASE_URL", err)
	}
	return running.URL(), nil
})

// do runs one statement in the maintenance database, in a session of its own: between tests nobody is connected.
func do(server, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return again(ctx, func() error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}
