package schema

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed waited.sql
var waited string

// looksApart is how often it is looked whether a build waits. The first look comes after this time too: most builds are
// through by then, and need no second connection.
const looksApart = 500 * time.Millisecond

// watched does one statement outside of a transaction. It keeps nobody from the tables, but may itself wait for the
// transactions of others, for which no time-out can be set without leaving it in the session. So a second connection
// looks whether it waits, and for whom; after a while of that, or when ctx ends, the statement is cancelled.
func (m migration) watched(ctx context.Context, sql string) error {
	whole := context.WithoutCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := m.conn.PgConn().Exec(whole, sql).ReadAll()
		done <- err
	}()
	w := watch{migration: m}
	defer w.close()
	ticks := time.NewTicker(looksApart)
	defer ticks.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			m.cancel(done)
			return fmt.Errorf("stopped: %w; run ebb migrate again", context.Cause(ctx))
		case <-ticks.C:
			who := w.look(ctx)
			if w.waits < m.patience {
				continue
			}
			if err, ended := m.cancel(done); ended && err == nil {
				return nil
			}
			return fmt.Errorf("waited for %s in vain, blocked by %s; nobody is kept from the table meanwhile: run ebb migrate again when that has ended",
				w.waits.Round(time.Second), who)
		}
	}
}

// cancel cancels the statement under way and waits for its end, but not for long.
func (m migration) cancel(done <-chan error) (err error, ended bool) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	_ = m.conn.PgConn().CancelRequest(ctx)
	select {
	case err := <-done:
		return err, true
	case <-ctx.Done():
		return nil, false
	}
}

// A watch is a second connection that looks what becomes of a statement on the first.
type watch struct {
	migration
	second *pgx.Conn
	failed bool
	since  time.Time     // it has been waiting
	waits  time.Duration // without a look that found it at work
	said   string
}

// look says for whom the build waits. Where there is no second connection to look with, what lasts long is taken for
// waiting, up to an hour.
func (w *watch) look(ctx context.Context) (who string) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if w.second == nil && !w.failed {
		var err error
		if w.second, err = pgx.ConnectConfig(ctx, w.conn.Config()); err != nil {
			w.failed = true
			w.log.Info("no second connection to see whom the build waits for", "schema", w.schema)
		}
	}
	now := time.Now()
	if w.since.IsZero() {
		w.since = now.Add(-looksApart)
	}
	if w.failed {
		w.waits = max(0, now.Sub(w.since)-time.Hour)
		return "sessions that could not be looked at"
	}
	if who = sessions(ctx, w.second, waited, pgx.Identifier{w.schema}.Sanitize()); who == "" {
		w.since, w.waits = now, 0
		return ""
	}
	w.waits = now.Sub(w.since)
	if who != w.said {
		w.said = who
		w.log.Info("waiting for transactions of others", "schema", w.schema, "held_by", who, "at_most", w.patience)
	}
	return who
}

func (w *watch) close() {
	if w.second != nil {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		w.second.Close(ctx)
	}
}
