//go:build unix

package drain_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A failover in the middle of a batch: new sessions are read-only for a while. The finished jobs are completed once
// there is a connection that writes, and none is done twice.
func TestReadOnlyForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	role := r.role()
	config, log := logged(r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 5 {
			r.exec(`alter role ` + roleOf(t, role) + ` set default_transaction_read_only = on`)
			r.exec(endSessions)
		}
		return nil
	}))
	config.Database = database(role)
	done := r.background(t.Context(), config)
	log.waitFor(t, "the session is read-only", 3)
	r.want(`select id from ebb.jobs where attempts > 0 and status not in ('running', 'done')`) // none is given back
	r.exec(`alter role ` + roleOf(t, role) + ` reset default_transaction_read_only`)
	if report := done(); report.Done != 30 || report.Stopped != drain.StoppedEmpty || report.Lost != 0 {
		t.Errorf("%+v", report)
	}
	r.once(30)
	r.want(`select status, attempts, count(*) from ebb.jobs group by 1, 2`, "(done,1,30)")
}

// A failover that never recovers: the run ends within its patience and the grace, says so, and names what it could
// not settle; the lease decides then.
func TestReadOnlyForGood(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	role := r.role()
	config, log := logged(r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 5 {
			r.exec(`alter role ` + roleOf(t, role) + ` set default_transaction_read_only = on`)
			r.exec(endSessions)
		}
		return nil
	}))
	config.Database, config.ConnectTimeout, config.Grace = database(role), 2*time.Second, time.Second
	began := time.Now()
	report, err := r.try(t.Context(), config)
	if took := time.Since(began); err == nil || errors.Is(err, drain.ErrRefused) || !strings.Contains(report.Error, "the session is read-only") || took > 15*time.Second {
		t.Errorf("after %v: %v, %+v", took, err, report)
	}
	if report.Lost == 0 || report.Claimed != report.Done+report.Lost {
		t.Errorf("%+v", report)
	}
	for _, id := range r.rows(`select id from ebb.jobs where status = 'running'`) {
		id = strings.Trim(id, "()")
		if text := log.String(); !strings.Contains(text, `"the job could not be settled: its lease decides, and it may run again" queue=default id=`+id+" ") {
			t.Errorf("job %s is not named in\n%s", id, text)
		}
	}
	// Nothing is lost: once the leases are over, the next run does it all.
	r.exec(`alter role ` + roleOf(t, role) + ` reset default_transaction_read_only`)
	r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where status = 'running'`)
	next := r.config(nil)
	if again := r.run(next); again.Reaped != report.Lost || again.Done != 30-report.Done {
		t.Errorf("%+v", again)
	}
	r.want(`select status, count(*) from ebb.jobs group by 1`, "(done,30)")
}

// A real standby: it is refused at the start, passed over where the URL names a writer too, and one that
// a server turns into in the middle of a run is waited for until it is promoted.
func TestStandby(t *testing.T) {
	t.Parallel()
	a, b := newCluster(t), newCluster(t)
	standby, writer := a.rig(), b.rig()
	for _, c := range []*cluster{a, b} { // of one password
		c.write("pg_hba.conf", []byte("host all all 127.0.0.1/32 trust\n"))
	}
	a.write("standby.signal", nil)
	a.restart("fast")
	b.ctl("reload")
	both := strings.Replace(writer.url, "@", "@"+standby.server()+",", 1) + "&target_session_attrs="

	for more, text := range map[string]string{
		"":                                 "the server is a read-only standby; point DATABASE_URL at the primary",
		"&target_session_attrs=read-write": "no server that DATABASE_URL names takes writes",
		"&target_session_attrs=primary":    "no server that DATABASE_URL names takes writes",
	} {
		config, log := logged(standby.config(nil))
		config.Database = database(standby.url + more)
		report, err := standby.try(t.Context(), config)
		if err == nil || errors.Is(err, drain.ErrRefused) || !strings.Contains(err.Error(), text) || len(standby.ids()) > 0 || report.RunMS > 5000 {
			t.Errorf("%v, %+v", err, report)
		}
		if strings.Contains(log.String(), "again") {
			t.Errorf("it was tried again:\n%s", log)
		}
	}

	b.restart("fast") // so that pg_ctl is its parent from now on
	for i, url := range []string{writer.url, both + "read-write"} {
		writer.seen = nil
		writer.look()
		writer.exec(`truncate ebb.jobs`)
		writer.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
		writer.db.Close(t.Context())
		demoted := make(chan struct{})
		var handled atomic.Int64
		config, log := logged(writer.config(func(context.Context, drain.Job) error {
			if handled.Add(1) == 5 {
				b.write("standby.signal", nil)
				b.ctl("restart", "-m", "fast")
				close(demoted)
			}
			return nil
		}))
		config.Database = database(url)
		done := writer.background(t.Context(), config)
		<-demoted
		text := "the server is a read-only standby"
		if i > 0 {
			text = "database not ready, trying again"
		}
		log.waitFor(t, text, 2)
		b.ctl("promote")
		if report := done(); report.Done != 30 || report.Lost != 0 || report.Stopped != drain.StoppedEmpty {
			t.Errorf("%s: %+v", url, report)
		}
		writer.once(30)
		writer.look()
		writer.want(`select status, attempts, count(*) from ebb.jobs group by 1, 2`, "(done,1,30)")
		writer.db.Close(t.Context())
	}
}

// A server that restarts under working handlers, at a word and without one: every job is done once, and nothing is left
// running.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.restart("fast") // so that pg_ctl is its parent from now on
	r := c.rig()
	for _, mode := range []string{"fast", "immediate"} {
		r.seen = nil
		c.sql(r.url, func(db *pgx.Conn) error {
			_, err := db.Exec(t.Context(), `truncate ebb.jobs; insert into ebb.jobs (payload) select '{}' from generate_series(1, 60)`)
			return err
		})
		var handled atomic.Int64
		config := r.config(func(context.Context, drain.Job) error {
			if n := handled.Add(1); n == 15 || n == 40 {
				c.ctl("restart", "-m", mode)
			}
			return nil
		})
		config.Concurrency = 4
		if report := r.run(config); report.Done != 60 || report.Lost != 0 {
			t.Errorf("%s: %+v", mode, report)
		}
		r.once(60)
		c.sql(r.url, func(db *pgx.Conn) error {
			var left int
			err := db.QueryRow(t.Context(), `select count(*) from ebb.jobs where status <> 'done' or attempts <> 1`).Scan(&left)
			if left > 0 {
				t.Errorf("%s: %d jobs are not done, or not at once", mode, left)
			}
			return err
		})
	}
}

// The sessions of a run are ended again and again, at any moment.
func TestSessionsEndedAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 300)`)
	config := r.config(nil)
	config.Database, config.Batch, config.Concurrency = database(schematest.Direct(r.url)), 5, 5
	done := r.background(t.Context(), config)
	ended := 0
	for len(r.rows(`select from ebb.jobs where status <> 'done' limit 1`)) > 0 && ended < 1000 {
		ended += len(r.rows(endSessions))
		if ended > 20 { // it may come to an end
			break
		}
	}
	if report := done(); report.Done != 300 || report.Lost != 0 || ended < 5 {
		t.Errorf("%d sessions were ended: %+v", ended, report)
	}
	r.once(300)
	r.want(`select status, attempts, count(*) from ebb.jobs group by 1, 2`, "(done,1,300)")
}
