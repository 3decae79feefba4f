//go:build unix

package local_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/deploy/local"
)

const idleTimeout = time.Second

// slack is what a pause may come too late: it is looked twice a second, and the server takes a moment to stop.
const slack = 2 * time.Second

// A compute is one under test, and all that happened to it.
type compute struct {
	*testing.T
	*local.Compute
	idleTimeout time.Duration

	mu     sync.Mutex
	events []local.Event
}

func startCompute(t *testing.T, opt local.ComputeOptions) *compute {
	t.Helper()
	opt.Settings = quick
	opt.IdleTimeout = cmp.Or(opt.IdleTimeout, idleTimeout)
	c := &compute{T: t, idleTimeout: opt.IdleTimeout}
	opt.Observe = func(e local.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, e)
	}
	var err error
	if c.Compute, err = local.StartCompute(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("what happened:\n" + c.story())
		}
	})
	return c
}

// since are the events from a time on.
func (c *compute) since(at time.Time) []local.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.events, func(e local.Event) bool { return !e.At.Before(at) })
	if i < 0 {
		return nil
	}
	return slices.Clone(c.events[i:])
}

// did says whether something happened since a time.
func (c *compute) did(what local.What, since time.Time) bool {
	return slices.ContainsFunc(c.since(since), func(e local.Event) bool { return e.What == what })
}

func (c *compute) story() string {
	var b strings.Builder
	events := c.since(time.Time{})
	for _, e := range events {
		fmt.Fprintf(&b, "%8.3f %s %s %v\n", e.At.Sub(events[0].At).Seconds(), e.What, e.Client, e.Err)
	}
	return b.String()
}

// connect connects through the door, under a name, in whatever manner the compute resumes.
func (c *compute) connect(name string, more ...string) *pgx.Conn {
	c.Helper()
	var conn *pgx.Conn
	var err error
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err = pgx.Connect(c.Context(), c.URL()+"&application_name="+name+strings.Join(more, ""))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			c.Fatal(err)
		}
	}
	c.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// with does something through a connection of its own, and again where the compute paused before it was done: on a busy
// machine a test can stand still for an idle timeout.
func (c *compute) with(what string, something func(*pgx.Conn) error) {
	c.Helper()
	for try := 1; ; try++ {
		conn := c.connect("test")
		err := something(conn)
		conn.Close(c.Context())
		var killed *pgconn.PgError
		if err != nil && (try == 5 || !errors.As(err, &killed) || killed.Code != "57P01") {
			c.Fatalf("%s: %v", what, err)
		}
		if err == nil {
			return
		}
	}
}

func (c *compute) do(sql string) {
	c.Helper()
	c.with(sql, func(conn *pgx.Conn) error {
		_, err := conn.Exec(c.Context(), sql)
		return err
	})
}

func (c *compute) ask(sql string) (answer string) {
	c.Helper()
	c.with(sql, func(conn *pgx.Conn) error { return conn.QueryRow(c.Context(), sql).Scan(&answer) })
	return answer
}

func await(t *testing.T, what string, within time.Duration, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (c *compute) untilPaused() {
	c.Helper()
	await(c.T, "the compute pauses", 30*time.Second+c.idleTimeout, c.IsPaused)
}

func TestComputePausesAndResumes(t *testing.T) {
	t.Parallel()
	c := startCompute(t, local.ComputeOptions{ResumeTime: 700 * time.Millisecond})
	conn := c.connect("idler")
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'kept' AS text"); err != nil {
		t.Fatal(err)
	}
	c.untilPaused()
	var killed *pgconn.PgError
	if _, err := conn.Exec(t.Context(), "SELECT"); err == nil || errors.As(err, &killed) && killed.Code != "57P01" {
		t.Errorf("a session that a pause killed: %v", err)
	}
	before := c.Usage()
	time.Sleep(100 * time.Millisecond)
	if now := c.Usage(); now != before || before.Resumes != 0 || before.Pauses != 1 || before.Connections != 1 {
		t.Errorf("while paused: %+v, then %+v", before, now)
	}

	began := time.Now()
	if got := c.ask("TABLE kept"); got != "kept" {
		t.Errorf("got %q", got)
	}
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("resumed after %v", took)
	}
	c.untilPaused()
	if now := c.Usage(); now.Resumes != 1 || now.Pauses != 2 || now.Connections != 2 || now.Awake-before.Awake < 700*time.Millisecond+idleTimeout {
		t.Errorf("before %+v, now %+v", before, now)
	}
	var what []local.What
	for _, e := range c.since(began) {
		what = append(what, e.What)
	}
	want := []local.What{local.Resuming, local.Resumed, local.Opened, local.Closed, local.Pausing, local.Paused}
	if !slices.Equal(what, want) {
		t.Errorf("%v, want %v", what, want)
	}
}

// What keeps a compute awake is what vendors of its family say of theirs.
func TestWhatKeepsAwake(t *testing.T) {
	t.Parallel()
	exec := func(sql string) func(*compute, context.Context) {
		return func(c *compute, ctx context.Context) {
			conn := c.connect("test")
			defer conn.Close(c.Context())
			if _, err := conn.Exec(c.Context(), sql); err != nil {
				c.Error(err)
			}
			<-ctx.Done()
		}
	}
	both := []local.Family{local.CountsActivity, local.CountsConnections}
	for _, family := range both {
		t.Run(family.String(), func(t *testing.T) {
			t.Parallel()
			c := startCompute(t, local.ComputeOptions{Family: family})
			for _, client := range []struct {
				does  string
				do    func(c *compute, ctx context.Context)
				awake []local.Family // the families that it keeps awake
			}{
				{"nothing", exec("SELECT 1"), both[1:]}, // the session stays
				{"LISTEN", exec("LISTEN something"), both[1:]},
				{"idle in transaction", exec("BEGIN"), both},
				{"open sessions", func(c *compute, ctx context.Context) {
					for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
						c.connect("test").Close(c.Context())
					}
				}, both},
				{"send WAL", func(c *compute, ctx context.Context) {
					conn := c.connect("test", "&replication=database&default_query_exec_mode=simple_protocol")
					defer conn.Close(c.Context())
					<-ctx.Done()
				}, both},
			} {
				c.untilPaused()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*idleTimeout+slack)
				go func() {
					for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
						if c.did(local.Paused, began) {
							cancel()
						}
					}
				}()
				client.do(c, ctx)
				cancel()
				if got, want := !c.did(local.Paused, began), slices.Contains(client.awake, family); got != want {
					t.Errorf("%s: kept awake is %v, want %v", client.does, got, want)
				}
			}
		})
	}
}

// A request to cancel is passed on. It wakes nobody where there is nothing to cancel, and neither does who only knocks.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	c := startCompute(t, local.ComputeOptions{})
	conn := c.connect("sleeper", "&sslmode=prefer")
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT pg_sleep(600)")
		ended <- err
	}()
	await(t, "the statement", 10*time.Second, func() bool {
		return c.ask("SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'sleeper' AND wait_event = 'PgSleep'") == "1"
	})
	if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	var cancelled *pgconn.PgError
	if err := <-ended; !errors.As(err, &cancelled) || cancelled.Code != "57014" {
		t.Errorf("got %v", err)
	}

	c.untilPaused()
	u, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	knock, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	knock.Close()
	if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if !c.IsPaused() || c.Usage().Resumes != 0 {
		t.Errorf("%+v", c.Usage())
	}
}

// A server that ends by itself, without a word to its clients, is started again for the next one.
func TestComputeServerKilled(t *testing.T) {
	t.Parallel()
	c := startCompute(t, local.ComputeOptions{IdleTimeout: time.Minute})
	data := c.ask("SHOW data_directory")
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var postmaster int
	if _, err := fmt.Sscan(string(text), &postmaster); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(postmaster, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.untilPaused()
	if last := c.since(time.Time{}); last[len(last)-1].Err == nil {
		t.Error("it is not told that it ended by itself")
	}
	if got := c.ask("SELECT 'there'"); got != "there" {
		t.Errorf("got %q", got)
	}
}

// Stop ends what is open, held or being started, and all that can be asked afterwards is how it was.
func TestComputeStops(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"awake", "resuming"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			c := startCompute(t, local.ComputeOptions{ResumeTime: 300 * time.Millisecond})
			conn := c.connect("test")
			ended := make(chan error, 1)
			switch at {
			case "awake":
				go func() {
					_, err := conn.Exec(context.Background(), "SELECT pg_sleep(600)")
					ended <- err
				}()
			case "resuming":
				c.untilPaused()
				go func() {
					_, err := pgx.Connect(context.Background(), c.URL())
					ended <- err
				}()
				await(t, "it resumes", 10*time.Second, func() bool { return !c.IsPaused() })
			}
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil {
				t.Error("who was inside was served to the end")
			}
			before := c.Usage()
			if _, err := pgx.Connect(t.Context(), c.URL()); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("after the stop: %v", err)
			}
			if after := c.Usage(); after != before || c.IsPaused() {
				t.Errorf("%+v, then %+v", before, after)
			}
		})
	}
}
