package schema

import (
	"context"
	"fmt"
	"time"
)

// unseen stands for sessions that there was no looking at, which is not the same as none.
const unseen = "sessions that could not be looked at"

// cancelWithin is how long the answer to a cancel is waited for.
const cancelWithin = 5 * time.Second

// watched does one statement outside of a transaction, on a table of so many bytes. It keeps nobody from the tables, but may itself wait for the
// transactions of others, for which no time-out can be set without leaving it in the session. So a second connection
// looks whether it waits, and for whom; after a while of that, or when ctx ends, the statement is cancelled. When watched
// returns nothing uses either connection, and the first is closed if the statement could not be ended otherwise.
func (m migration) watched(ctx context.Context, sql string, bytes int64) error {
	whole := context.WithoutCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := m.conn.PgConn().Exec(whole, sql).ReadAll()
		done <- err
	}()
	looking, stop := context.WithCancel(whole)
	looks := make(chan look)
	w := watch{migration: m, blind: blind(m.patience, bytes)}
	go w.look(looking, looks)
	defer func() {
		stop()
		for range looks { // closed when the second connection is
		}
	}()
	wait := waiting{since: time.Now()}
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			_ = m.end(done)
			return fmt.Errorf("stopped: %w; run ebb migrate again", context.Cause(ctx))
		case l := <-looks:
			now := time.Now()
			wait.take(l, now)
			if !wait.inVain(now, m.patience, w.blind) {
				continue
			}
			if err := m.end(done); err == nil {
				return nil // it was done after all
			}
			return fmt.Errorf("waited for %s in vain, blocked by %s; nobody is kept from the table meanwhile: run ebb migrate again when that has ended",
				now.Sub(wait.since).Round(time.Second), wait.blockedBy())
		}
	}
}

// end cancels the statement under way and waits for its end. Where a cancel does not get through, as with a server or a
// pooler that takes no more connections, the connection is closed.
func (m migration) end(done <-chan error) error {
	ctx, stop := context.WithTimeout(context.Background(), cancelWithin)
	defer stop()
	_ = m.conn.PgConn().CancelRequest(ctx)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		// Closing the PgConn would wait for what reads from it.
		_ = m.conn.PgConn().Conn().Close()
		return <-done
	}
}
