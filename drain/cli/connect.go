package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
)

// settings reads the settings for a command other than run. It finds all mistakes in them that run would, but does not
// look whether the handlers are there, for they may be on another machine. There is no database where none is wanted.
func (p *program) settings(by given, behind dash, wantsDatabase bool) (c Config, database source, queues []queue, err error) {
	environ := environment(p.environ)
	c, mistakes := p.load(by)
	var wrong []error
	if wantsDatabase {
		database, wrong = c.database(environ, by)
		mistakes = append(mistakes, wrong...)
	}
	queues, wrong = c.queues(p.handlers, behind)
	mistakes = append(mistakes, wrong...)
	return c, database, queues, asUsage(errors.Join(mistakes...))
}

// load reads the settings, and says what is wrong with the command line first. What is secret in them is known from then on.
func (p *program) load(by given) (Config, []error) {
	c, mistakes := load(environment(p.environ), by)
	c.secrets = &p.secrets
	return c, append(slices.Clone(p.typed), mistakes...)
}

// withConnection connects for as long as do takes.
func (p *program) withConnection(ctx context.Context, c Config, database source, do func(*pgx.Conn, *slog.Logger) error) error {
	log := p.logger(c)
	conn, err := drain.Connect(ctx, database, c.limits(p).WithDefaults().ConnectTimeout, log)
	if err != nil {
		return err
	}
	defer func() {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(short)
	}()
	return drain.Explained(do(conn, log))
}

// notMigrated puts what it means in place of a server's complaint that a table, column or function is not there.
func notMigrated(ctx context.Context, conn *pgx.Conn, name string, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || !slices.Contains([]string{"42P01", "42703", "42883", "3F000"}, pg.Code) {
		return err
	}
	version, oldest, lookErr := schema.Current(ctx, conn, name)
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	return checkVersion(name, version, oldest, err)
}

// checkVersion says what to do where this program does not work on the tables, and gives err where it does.
func checkVersion(name string, version, oldest int, err error) error {
	switch {
	case version < schema.Version:
		return wrong("schema %s is at version %d, this ebb needs %d; run: ebb migrate", name, version, schema.Version)
	case oldest > schema.Version:
		return wrong("schema %s is at version %d, this ebb knows only %d; use a newer ebb", name, version, schema.Version)
	}
	return err
}
