package drain

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// letGo is how long a connection is kept without an exchange. A compute that counts connections can pause after that,
// and one that kills idle sessions does no harm.
const letGo = 10 * time.Second

// A link is the one connection of a run: opened when an exchange needs it, closed when none did for a while.
type link struct {
	config Config

	conn     *pgx.Conn
	checked  bool // this connection passed check.sql
	proven   bool // some connection of this run did
	refused  refusals
	lastUsed time.Time

	lacks map[string]bool // queues whose names the database cannot hold; nil: not asked yet

	connectTook time.Duration // the first time
	exchanges   int
}

// open makes sure that there is a connection. It ends early when ctx does.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil && !l.conn.IsClosed() {
		return nil
	}
	began := time.Now()
	var before *refusals
	if l.proven {
		before = &l.refused
	}
	conn, err := connect(ctx, l.config.Database, l.config.ConnectTimeout, l.config.Log, before)
	if err != nil {
		return err
	}
	l.conn, l.checked = conn, false
	if l.connectTook == 0 {
		l.connectTook = time.Since(began)
	}
	return nil
}

// drop closes the connection, if there is one. It waits for the server to do the same, but not for long: a compute may
// pause only once the session is gone, and whoever looks after the run's end shall find none.
func (l *link) drop() {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	raw, err := l.conn.PgConn().Hijack()
	if err != nil { // it is in the middle of something, or gone already
		l.conn.Close(ctx)
		l.conn = nil
		return
	}
	l.conn = nil
	defer raw.Conn.Close()
	deadline, _ := ctx.Deadline()
	raw.Conn.SetDeadline(deadline)
	raw.Frontend.Send(&pgproto3.Terminate{})
	if raw.Frontend.Flush() == nil {
		io.Copy(io.Discard, raw.Conn)
	}
}

// diagnose says why check.sql failed.
func (l *link) diagnose(ctx context.Context) error {
	schema := l.config.Schema
	if err := l.ask(ctx, pathStatement, nil, nil); isDivisionByZero(err) {
		return refuse("%s", "others may create functions in a schema that the search_path names before pg_catalog, and they would be called in place of Postgres' own; leave pg_catalog out of it, so that it comes first: ALTER ROLE ... SET search_path = ...")
	} else if err != nil {
		return err
	}
	var exists, readOnly, standby bool
	var isolation string
	err := l.ask(ctx, diagnoseStatement, pgx.StrictNamedArgs{"schema": schema}, &exists, &isolation, &readOnly, &standby)
	if err != nil {
		return err
	}
	version := 0
	if exists {
		if err := l.ask(ctx, readVersion, nil, &version); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	switch {
	case version < SchemaVersion:
		return refuse("schema %s is at version %d, this ebb needs %d; run: ebb migrate", schema, version, SchemaVersion)
	case version > SchemaVersion:
		return refuse("schema %s is at version %d, this ebb knows only %d; use a newer ebb", schema, version, SchemaVersion)
	case standby:
		return errors.New("the server is a read-only standby; point DATABASE_URL at the primary, or add target_session_attrs=read-write")
	case readOnly:
		return errors.New("the session is read-only (default_transaction_read_only); ebb needs one that may write")
	case isolation != "read committed":
		return refuse("the session's isolation level is %s; set the role's default_transaction_isolation to read committed", isolation)
	}
	return errors.New("the check of the schema failed and then passed; run ebb again")
}

func isDivisionByZero(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "22012"
}

// ask reads one row in an exchange of its own.
func (l *link) ask(ctx context.Context, s statement, args pgx.StrictNamedArgs, into ...any) error {
	b := &batch{schema: l.config.Schema}
	b.queue(limitsStatement, nil)
	b.queue(s, args).QueryRow(func(row pgx.Row) error { return row.Scan(into...) })
	l.exchanges++
	return l.conn.SendBatch(ctx, &b.Batch).Close()
}
