//go:build unix

package drain_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schema"
)

// A stormed is the compute of a storm, which may be gone at any time, with ebb's tables and the record of all that
// happens to jobs.
type stormed struct {
	*testing.T
	compute *local.Compute
}

// newStormed starts a compute that pauses soon. What is committed survives any death of the server, for that is what
// the storm is about: it is not flushed to the disk, but out of the server's memory.
func newStormed(t *testing.T, manner local.Manner) *stormed {
	compute, err := local.StartCompute(t.Context(), local.ComputeOptions{
		Options:     local.Options{Settings: map[string]string{"fsync": "off", "synchronous_commit": "on", "max_connections": "200"}},
		IdleTimeout: 700 * time.Millisecond, Manner: manner,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { compute.Stop() }) // what its last life came to does not matter
	s := &stormed{t, compute}
	s.session(func(ctx context.Context, conn *pgx.Conn) error {
		if err := schema.Migrate(ctx, conn, "ebb", slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, record)
		return err
	})
	return s
}

// session does something in a session of its own, again where the server goes away meanwhile.
func (s *stormed) session(do func(context.Context, *pgx.Conn) error) {
	s.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		conn, err := pgx.Connect(ctx, s.compute.URL()+"&application_name=eye")
		if err == nil {
			err = do(ctx, conn)
			conn.Close(ctx)
		}
		cancel()
		if err == nil {
			return
		}
		var pg *pgconn.PgError
		if time.Now().After(deadline) || errors.As(err, &pg) && strings.HasPrefix(pg.Code, "42") { // that is the test's mistake
			s.Fatal(err)
		}
	}
}

// rows gives the rows of a query as text, one string a row. It may have been done more than once.
func (s *stormed) rows(sql string, args ...any) (texts []string) {
	s.Helper()
	s.session(func(ctx context.Context, conn *pgx.Conn) (err error) {
		rows, _ := conn.Query(ctx, "select row(q.*)::text from ("+sql+") q", args...)
		texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return texts
}

// none wants a query to have no rows.
func (s *stormed) none(what, sql string) {
	s.Helper()
	if got := s.rows(sql); len(got) > 0 {
		s.Errorf("%s: %d, such as\n%s", what, len(got), strings.Join(got[:min(5, len(got))], "\n"))
	}
}

func (s *stormed) enqueue(n int) {
	s.session(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `insert into ebb.jobs (payload, max_attempts)
			select jsonb_build_object('do', (array['', '', '', 'slow', 'slow', 'fail'])[1 + floor(random() * 6)]), 6 from generate_series(1, $1)`, n)
		return err
	})
}

// signal sends the server a signal. It is started again for whoever connects next.
func (s *stormed) signal(sig syscall.Signal) {
	s.strike(`select split_part(pg_read_file('postmaster.pid'), E'\n', 1)`, sig)
}

// crash kills one backend of a drainer, after which the server throws all sessions out and recovers.
func (s *stormed) crash() {
	s.strike(`select pid::text from pg_stat_activity where application_name ~ '^drainer' order by pid limit 1`, syscall.SIGKILL)
}

func (s *stormed) strike(pids string, sig syscall.Signal) {
	for _, row := range s.rows(pids) {
		pid, err := strconv.Atoi(strings.Trim(row, `()"`))
		if err != nil {
			s.Fatal(err)
		}
		syscall.Kill(pid, sig) // it may be gone
	}
}
