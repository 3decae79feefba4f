package drain_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/seed829e008e/ebb/drain"
)

// A door is a TCP port before the real server that treats each connection as the test says.
type door struct {
	net.Listener
	server string
	treat  func(n int, client net.Conn) bool // false: it is done with the connection; n counts from 1
	mu     sync.Mutex
	n      int
}

// server is the address of the real server.
func (r *rig) server() string {
	u, err := url.Parse(r.url)
	if err != nil {
		r.Fatal(err)
	}
	return u.Host
}

// door puts a door before the database of a rig, and gives the URL through it.
func (r *rig) door(treat func(n int, client net.Conn) bool) (*door, string) {
	r.Helper()
	u, err := url.Parse(r.url)
	if err != nil {
		r.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { listener.Close() })
	d := &door{Listener: listener, server: r.server(), treat: treat}
	go d.serve()
	u.Host, u.RawQuery = listener.Addr().String(), "sslmode=disable"
	return d, u.String()
}

func (d *door) serve() {
	for {
		client, err := d.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		d.n++
		n := d.n
		d.mu.Unlock()
		go func() {
			defer client.Close()
			if d.treat != nil && !d.treat(n, client) {
				return
			}
			server, err := net.Dial("tcp", d.server)
			if err != nil {
				return
			}
			defer server.Close()
			go func() { io.Copy(server, client); server.Close() }()
			io.Copy(client, server)
		}()
	}
}

func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// says answers a connection with a fatal error, as a server that is starting or stopping does.
func says(code, message string) func(net.Conn) {
	return func(client net.Conn) {
		b := pgproto3.NewBackend(client, client)
		for {
			msg, err := b.ReceiveStartupMessage()
			if err != nil {
				return
			}
			if _, ok := msg.(*pgproto3.StartupMessage); ok {
				break
			}
			client.Write([]byte("N")) // no TLS
		}
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
		b.Flush()
	}
}

// What passes by itself is tried again: refused, starting up, closed at once, silent, too many connections, a proxy that
// wakes a compute.
func TestConnectHasPatience(t *testing.T) {
	closes := func(net.Conn) {}
	silent := func(client net.Conn) { io.Copy(io.Discard, client) }
	for _, c := range []struct {
		name  string
		tries int // until the server is there
		treat func(net.Conn)
	}{
		{"57P03", 4, says("57P03", "the database system is starting up")},
		{"closed at once", 4, closes},
		{"silent", 2, silent},
		{"53300", 3, says("53300", "sorry, too many clients already")},
		{"waking", 3, says("XX000", "Couldn't connect to compute node")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
			d, url := r.door(func(n int, client net.Conn) bool {
				if n < c.tries {
					c.treat(client)
					return false
				}
				return true
			})
			var log bytes.Buffer
			config := r.config(nil)
			config.Database = database(url + "")
			config.Log = slog.New(slog.NewTextHandler(&log, nil))
			config.ConnectTimeout = 20 * time.Second
			report := r.run(config)
			if report.Done != 3 || d.count() != c.tries {
				t.Errorf("%d connections, %+v", d.count(), report)
			}
			if lines := strings.Count(log.String(), "trying again"); lines != c.tries-1 {
				t.Errorf("%d lines for %d tries:\n%s", lines, c.tries-1, log.String())
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) values ('{}')`)
		d, url := r.door(nil)
		address := d.Addr().String()
		d.Close()
		refused := make(chan struct{}, 100)
		config := r.config(nil)
		config.Database = database(url + "")
		config.Log = slog.New(slog.NewTextHandler(writer(func(p []byte) { refused <- struct{}{} }), nil))
		go func() {
			<-refused
			<-refused
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { listener.Close() })
			(&door{Listener: listener, server: r.server()}).serve()
		}()
		if report := r.run(config); report.Done != 1 {
			t.Errorf("report %+v", report)
		}
	})
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// What does not pass is final at once, and said with its SQLSTATE.
func TestConnectGivesUpAtOnce(t *testing.T) {
	for _, c := range []struct{ code, message string }{
		{"28P01", "password authentication failed"}, {"3D000", "database does not exist"},
		{"XX000", "endpoint is disabled: check your quotas"}, {"28000", "no pg_hba.conf entry"},
	} {
		r := newRig(t)
		d, url := r.door(func(_ int, client net.Conn) bool { says(c.code, c.message)(client); return false })
		config := r.config(nil)
		config.Database = database(url + "")
		report, err := r.try(context.Background(), config)
		if err == nil || !strings.Contains(err.Error(), c.code) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.code, err)
		}
		if d.count() != 1 || report.Stopped != drain.StoppedError || report.RunMS > 2000 || report.Error == "" {
			t.Errorf("%s: %d connections, %+v", c.code, d.count(), report)
		}
	}
}

// What never passes: the end comes at the limit, and says the last real error.
func TestConnectSaysTheLastRealError(t *testing.T) {
	r := newRig(t)
	_, starting := r.door(func(n int, client net.Conn) bool {
		if n == 1 {
			says("57P03", "the database system is starting up")(client)
		} else {
			io.Copy(io.Discard, client)
		}
		return false
	})
	_, silent := r.door(func(_ int, client net.Conn) bool { io.Copy(io.Discard, client); return false })
	for url, text := range map[string]string{
		starting: "the database system is starting up (SQLSTATE 57P03)",
		silent:   "it does not answer",
		"postgres://u:secret@no-such-host.invalid/db":        "no-such-host.invalid",
		"postgres://u:secret@127.0.0.1:1/db?sslmode=disable": "connection refused",
	} {
		config := r.config(nil)
		config.Database, config.ConnectTimeout = database(url), 2*time.Second
		report, err := r.try(context.Background(), config)
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "deadline") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
		if report.RunMS > 4000 || report.Stopped != drain.StoppedError {
			t.Errorf("%s: %+v", text, report)
		}
	}
}

func TestSignalEndsConnecting(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancel(context.Background())
	_, url := r.door(func(n int, client net.Conn) bool {
		stop()
		io.Copy(io.Discard, client)
		return false
	})
	config := r.config(nil)
	config.Database = database(url + "")
	report, err := r.try(ctx, config)
	if err != nil || report.Stopped != drain.StoppedSignal || report.RunMS > 1000 {
		t.Errorf("%v, %+v", err, report)
	}
}

func TestSetupIsChecked(t *testing.T) {
	for _, c := range []struct {
		name, sql, setting, text string
		refused                  bool
	}{
		{"missing", `drop schema ebb cascade`, "", "schema ebb is at version 0, this ebb needs 1; run: ebb migrate", true},
		{"older", `update ebb.jobs_version set version = 0`, "", "schema ebb is at version 0, this ebb needs 1; run: ebb migrate", true},
		{"newer", `update ebb.jobs_version set version = 7, oldest = 7`, "", "schema ebb is at version 7, this ebb knows only 1; use a newer ebb", true},
		{"read-only", `select 1`, "default_transaction_read_only = on", "the session is read-only", false},
		{"isolation", `select 1`, "default_transaction_isolation = 'serializable'", "isolation level is serializable", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) values ('{}')`)
			r.exec(c.sql)
			config := r.config(nil)
			if c.setting != "" {
				config.Database = database(r.role(c.setting))
			}
			report, err := r.try(context.Background(), config)
			if err == nil || !strings.Contains(err.Error(), c.text) || errors.Is(err, drain.ErrRefused) != c.refused {
				t.Errorf("error %v", err)
			}
			if len(r.ids()) > 0 || report.Claimed > 0 || report.Stopped != drain.StoppedError {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// A connection cut in the middle of a run is opened again, and every job is done once.
func TestCutConnections(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 200)`)
	n := 0
	config := r.config(func(ctx context.Context, job drain.Job) error {
		if job.ID%50 == 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			n++
			r.exec(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
		}
		return nil
	})
	report := r.run(config)
	if report.Done != 200 || len(r.ids()) != 200 || n != 4 {
		t.Errorf("%d handled, %d cuts, %+v", len(r.ids()), n, report)
	}
}

func TestWrongPassword(t *testing.T) {
	r := newRig(t)
	config := r.config(nil)
	config.Database = database(withUser(t, r.url, "nobody_here", "s3cr3t-word"))
	_, err := r.try(context.Background(), config)
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// Where the database is gone for good in the middle of a run, the end comes with the grace, and says what is not known.
func TestDatabaseGoneForGood(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 5)`)
	var d *door
	d, url := r.door(func(n int, client net.Conn) bool { return n == 1 })
	config := r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 1 {
			d.Close()
			r.exec(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
		}
		return nil
	})
	config.Database, config.Grace, config.ConnectTimeout = database(url), time.Second, 500*time.Millisecond
	began := time.Now()
	report, err := r.try(context.Background(), config)
	if took := time.Since(began); err == nil || took > 6*time.Second || report.Stopped != drain.StoppedError || report.Lost == 0 {
		t.Errorf("after %v: %v, %+v", took, err, report)
	}
	if report.Error == "" || strings.Contains(report.Error, "context canceled") {
		t.Errorf("the summary says %q", report.Error)
	}
}
