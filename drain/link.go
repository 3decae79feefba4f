package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/sethvargo/go-retry"
)

// letGo is how long a connection is kept without an exchange. A compute that counts connections can pause after that,
// and one that kills idle sessions does no harm.
const letGo = 10 * time.Second

// Connect opens a connection with patience: what passes by itself (refused, reset, starting up, silent, no name yet,
// too many connections) is tried again for as long as timeout says, anything else is final at once. The error is the
// last real one, in one line, without anything of the URL that could be secret.
//
// The connection works behind every pooler: each statement is one round trip, and nothing is prepared under a name.
func Connect(ctx context.Context, database func() (*pgx.ConnConfig, error), timeout time.Duration, log *slog.Logger) (*pgx.Conn, error) {
	began := time.Now()
	patience, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var conn *pgx.Conn
	tries := 0
	err := again(patience, timeout, func(context.Context) error {
		tries++
		var err error
		conn, err = connectOnce(patience, database, tries)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && diagnoseTrouble(err) != permanent {
			log.Info("database not ready, trying again", "try", tries, "error", brief(err))
			return retry.RetryableError(err)
		}
		return err
	})
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("stopped while connecting to the database: %w", context.Cause(ctx))
	case errors.Is(err, ErrRefused):
		return nil, err
	case patience.Err() != nil || diagnoseTrouble(err) != permanent:
		text := brief(err)
		if isTimeout(err) {
			text = "it does not answer"
		}
		return nil, reworded{fmt.Sprintf("database out of reach for %v: %s; see DATABASE_URL, or raise EBB_CONNECT_TIMEOUT",
			time.Since(began).Round(time.Second), text), err}
	}
	return nil, reworded{"cannot connect to the database: " + brief(err) + hint(err), err}
}

// reworded gives an error a text of its own and keeps it in the chain.
type reworded struct {
	text string
	err  error
}

func (t reworded) Error() string { return t.text }
func (t reworded) Unwrap() error { return t.err }

// hint says what to do about errors that users meet first.
func hint(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "28P01", "28000":
			return "; check user and password in DATABASE_URL"
		case "3D000":
			return "; check the database's name in DATABASE_URL, or create it"
		case "53300":
			return "; raise the role's or the server's connection limit"
		case "42501":
			return "; grant that to the role: the README lists what it needs"
		case "42704":
			return "; take that parameter out of DATABASE_URL"
		}
		return ""
	}
	if isTLS(err) {
		return "; set sslrootcert to the server's CA certificate, or sslmode to what the server offers"
	}
	return ""
}

func connectOnce(ctx context.Context, database func() (*pgx.ConnConfig, error), try int) (*pgx.Conn, error) {
	config, err := database()
	if err != nil {
		return nil, err
	}
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "ebb"
	}
	if config.ConnectTimeout == 0 {
		// Short at first, since what accepts and says nothing may have been replaced by the next try; longer then, since
		// a slow resume may hold every connection until it is through.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(min(try, 4))*5*time.Second)
		defer cancel()
	}
	return pgx.ConnectConfig(ctx, config)
}

// A link is the one connection of a run: opened when an exchange needs it, closed when none did for a while.
type link struct {
	config Config

	conn     *pgx.Conn
	checked  bool // this connection passed check.sql
	proven   bool // some connection of this run did
	lastUsed time.Time

	connectTook time.Duration // the first time
	exchanges   int
}

// open makes sure that there is a connection. It ends early when ctx does.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil && !l.conn.IsClosed() {
		return nil
	}
	began := time.Now()
	conn, err := Connect(ctx, l.config.Database, l.config.ConnectTimeout, l.config.Log)
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
	var exists, readOnly, standby bool
	var isolation string
	l.exchanges++
	err := l.conn.QueryRow(ctx, diagnoseStatement.in(schema), pgx.StrictNamedArgs{"schema": schema}).
		Scan(&exists, &isolation, &readOnly, &standby)
	if err != nil {
		return err
	}
	version := 0
	if exists {
		l.exchanges++
		err := l.conn.QueryRow(ctx, readVersion.in(schema)).Scan(&version)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
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
