package drain

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

//go:embed check.sql
var checkStatement statement

//go:embed path.sql
var pathStatement statement

//go:embed diagnose.sql
var diagnoseStatement statement

//go:embed limits.sql
var limitsStatement statement

const readVersion statement = `select version, oldest from {schema}.jobs_version`

// restful is how long a connection that rested is taken for alive without a look. A compute that paused meanwhile has
// closed it, and an exchange that finds that out has to find out as well whether it was made.
const restful = time.Second

// A session is the one connection of a run to Postgres.
type session struct {
	config Config

	conn    *pgx.Conn
	checked bool // this connection passed check.sql
	passed  bool // some connection of this run did
	refused refusals

	lacks map[string]bool // queues whose names the database cannot hold; nil: not asked yet

	usedAt      time.Time
	connectTook time.Duration // the first time
	exchanges   int
}

func (s *session) proven() bool { return s.passed }

func (s *session) traffic() (int, time.Duration) { return s.exchanges, s.connectTook }

func (s *session) open(ctx context.Context) error {
	if s.conn != nil && time.Since(s.usedAt) > restful && !s.isAlive() {
		s.close()
	}
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	began := time.Now()
	var before *refusals
	if s.passed {
		before = &s.refused
	}
	conn, err := connect(ctx, s.config.Database, s.config.ConnectTimeout, s.config.Log, before)
	if err != nil {
		return err
	}
	s.conn, s.checked = conn, false
	if s.connectTook == 0 {
		s.connectTook = time.Since(began)
	}
	return nil
}

// isAlive says whether the server has not closed the connection, as far as can be told without asking it.
func (s *session) isAlive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := s.conn.PgConn().ReceiveMessage(ctx)
	return err == nil || pgconn.Timeout(err)
}

// close waits for the server to close as well, but not for long: a compute may pause only once the session is gone, and
// whoever looks after the run's end is to find none.
func (s *session) close() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	raw, err := s.conn.PgConn().Hijack()
	if err != nil { // it is in the middle of something, or gone already
		s.conn.Close(ctx)
		s.conn = nil
		return
	}
	s.conn = nil
	defer raw.Conn.Close()
	deadline, _ := ctx.Deadline()
	raw.Conn.SetDeadline(deadline)
	raw.Frontend.Send(&pgproto3.Terminate{})
	if raw.Frontend.Flush() == nil {
		io.Copy(io.Discard, raw.Conn)
	}
}

func (s *session) once(ctx context.Context, req request) (response, error) {
	var resp response
	b := &batch{schema: s.config.Schema}
	checked, limited := s.checked, false
	b.queue(limitsStatement, nil).Exec(func(pgconn.CommandTag) error { limited = true; return nil })
	if !s.checked {
		b.queue(pathStatement, nil)
		b.queue(checkStatement, pgx.StrictNamedArgs{"version": SchemaVersion, "schema": s.config.Schema}).QueryRow(func(row pgx.Row) error {
			var hides bool
			err := row.Scan(&resp.now, new(int), &hides)
			checked = err == nil
			if hides && !s.passed {
				s.config.Log.Warn("row level security is on for this role: jobs that its policies hide are neither drained nor counted; make the role the table's owner, or give it BYPASSRLS")
			}
			return err
		})
	}
	b.ask(req, &resp)
	s.exchanges++
	err := s.conn.SendBatch(ctx, &b.Batch).Close()
	s.usedAt = time.Now()
	switch {
	case err != nil && !limited && isStatementTimeout(err): // the session's own, which the limits replace
		err = hasty{reworded{brief(err) + "; raise the role's statement_timeout, which ends even the shortest statement", err}}
	case err != nil && !checked && diagnoseTrouble(err) != cut:
		err = s.diagnose(ctx)
		if s.passed && !errors.Is(err, ErrRefused) {
			err = cutOff{err} // a failover in the middle of a run: the next connection may find the primary
		}
	}
	if err != nil { // what some statements answered before another failed was taken back with it
		return response{}, err
	}
	s.checked, s.passed = true, true
	return resp, nil
}

// ask puts into a batch what a request asks for.
func (b *batch) ask(req request, resp *response) {
	if req.orphans {
		b.orphans(req.run, req.inFlight, req.only, resp)
	}
	if len(req.settles) > 0 {
		b.settle(req.run, req.settles, resp)
	}
	if len(req.extends) > 0 {
		b.extend(req.run, req.extends, resp)
	}
	if req.reap {
		b.reap(req.run, req.only, req.skip(), resp)
	}
	if c := req.claim; c != nil {
		if c.alone != onlyAlone {
			b.claim(req.run, *c, resp)
		}
		if c.alone != noneAlone {
			b.claimAlone(req.run, *c, resp)
		}
		if c.seek {
			b.aloneDue(*c, &resp.aloneDue)
		}
	}
	if req.read != nil {
		b.read(req.run, req.read, &resp.payload)
	}
	if req.orphanIDs {
		b.orphanIDs(req.run, req.inFlight, resp)
	}
	if req.suspects != nil {
		b.suspects(*req.suspects, &resp.suspects)
	}
	if len(req.lookup) > 0 {
		b.lookup(req.lookup, &resp.rows)
	}
	if req.recount {
		b.recount(req.run, resp)
	}
	if len(req.linger) > 0 {
		b.next(req.linger, &resp.next)
	}
	if req.record != nil {
		b.record(*req.record, &resp.left)
	}
}

// diagnose says why check.sql failed.
func (s *session) diagnose(ctx context.Context) error {
	schema := s.config.Schema
	var pg *pgconn.PgError
	if err := s.query(ctx, pathStatement, nil, nil); errors.As(err, &pg) && pg.Code == "22012" { // division_by_zero
		return refuse("%s", "others may create functions in a schema that the search_path names before pg_catalog, and they would be called in place of Postgres' own; leave pg_catalog out of it, so that it comes first: ALTER ROLE ... SET search_path = public, for example")
	} else if err != nil {
		return err
	}
	var exists, readOnly, standby bool
	var isolation string
	err := s.query(ctx, diagnoseStatement, pgx.StrictNamedArgs{"schema": schema}, &exists, &isolation, &readOnly, &standby)
	if err != nil {
		return err
	}
	version, oldest := 0, 0
	if exists {
		if err := s.query(ctx, readVersion, nil, &version, &oldest); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	switch {
	case version < SchemaVersion:
		return refuse("schema %s is at version %d, this ebb needs %d; run: ebb migrate", schema, version, SchemaVersion)
	case oldest > SchemaVersion:
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

// query reads one row in an exchange of its own.
func (s *session) query(ctx context.Context, q statement, args pgx.StrictNamedArgs, into ...any) error {
	b := &batch{schema: s.config.Schema}
	b.queue(limitsStatement, nil)
	b.queue(q, args).QueryRow(func(row pgx.Row) error { return row.Scan(into...) })
	s.exchanges++
	return s.conn.SendBatch(ctx, &b.Batch).Close()
}
