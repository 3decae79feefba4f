package drain_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// ordinary makes a role's connections count: those of superusers are not limited.
func (r *rig) ordinary(settings ...string) string {
	r.Helper()
	url := r.role(settings...)
	r.exec(`alter role ` + roleOf(r.T, url) + ` nosuperuser`)
	r.exec(`grant usage on schema ebb to ` + roleOf(r.T, url))
	r.exec(`grant all on all tables in schema ebb to ` + roleOf(r.T, url))
	r.Cleanup(func() { r.exec(`drop owned by ` + roleOf(r.T, url)) }) // else it could not be dropped
	return url
}

// sessions are those of a role, seen from within.
const sessions = `select pid from pg_stat_activity where usename = $1`

// A role with few connections. A run has one at most, extensions and all, and none at its end.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"2", "1"} {
		r := newRig(t)
		url := r.ordinary()
		r.exec(`alter role ` + roleOf(t, url) + ` connection limit ` + limit)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 100)`)
		finish := make(chan struct{})
		config := r.config(func(_ context.Context, job drain.Job) error {
			if job.ID%20 == 0 {
				<-finish // the lease is extended meanwhile
			}
			return nil
		})
		config.Database, config.Concurrency, config.Lease = database(url), 8, time.Second
		done := r.background(t.Context(), config)
		most := 0
		looks := func(until string) {
			for deadline := time.Now().Add(20 * time.Second); ; {
				most = max(most, len(r.rows(sessions, roleOf(t, url))))
				if r.rows(until)[0] == "(t)" {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("waited in vain for %s", until)
				}
			}
		}
		looks(`select count(*) = 95 from ebb.jobs where status = 'done'`)
		r.exec(`create table before as select max(locked_until) as until from ebb.jobs`)
		looks(`select bool_and(locked_until > until + interval '1 s') from ebb.jobs, before where status = 'running'`)
		close(finish)
		if report := done(); report.Done != 100 {
			t.Errorf("limit %s: %+v", limit, report)
		}
		if left := r.rows(sessions, roleOf(t, url)); most != 1 || len(left) > 0 {
			t.Errorf("limit %s: %d connections at once, %d at the end", limit, most, len(left))
		}
		r.once(100)
	}
}

// occupied takes all of a role's connections, and gives what lets them go again.
func occupied(t *testing.T, url string) (free func()) {
	t.Helper()
	var db *pgx.Conn
	for deadline := time.Now().Add(20 * time.Second); ; { // one that ended a moment ago may still count
		var err error
		if db, err = pgx.Connect(t.Context(), url); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { db.Close(context.Background()) })
	return func() { db.Close(context.Background()) }
}

// All connections are taken, for a while or for good, when the run begins.
func TestNoConnectionLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	url := r.ordinary()
	r.exec(`alter role ` + roleOf(t, url) + ` connection limit 1`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 10)`)
	free := occupied(t, url)

	config, log := logged(r.config(nil))
	config.Database, config.ConnectTimeout = database(url), time.Second
	report, err := r.try(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "(SQLSTATE 53300); raise the role's or the server's connection limit") || report.Claimed > 0 || len(r.ids()) > 0 {
		t.Errorf("%v, %+v", err, report)
	}
	if !strings.Contains(log.String(), "trying again") {
		t.Errorf("it was not tried again:\n%s", log)
	}

	config, log = logged(r.config(nil))
	config.Database = database(url)
	done := r.background(t.Context(), config)
	log.waitFor(t, "SQLSTATE 53300", 3)
	free()
	if report := done(); report.Done != 10 {
		t.Errorf("%+v", report)
	}
	r.once(10)
}

// In the middle of a run the session is ended and others take its place, for a while or for good. What is
// claimed is kept as long as there is hope.
func TestConnectionTakenByOthers(t *testing.T) {
	t.Parallel()
	for _, forGood := range []bool{false, true} {
		r := newRig(t)
		url := r.ordinary()
		r.exec(`alter role ` + roleOf(t, url) + ` connection limit 1`)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
		taken := make(chan func(), 1)
		config, log := logged(r.config(func(_ context.Context, job drain.Job) error {
			if job.ID == 5 {
				admin := schematest.Connect(t, r.url)
				defer admin.Close(context.Background())
				// The limit holds for the next session; no other gets in between the two.
				if _, err := admin.Exec(t.Context(), `alter role `+roleOf(t, url)+` connection limit 2`); err != nil {
					t.Error(err)
				}
				free := occupied(t, url)
				if _, err := admin.Exec(t.Context(), `alter role `+roleOf(t, url)+` connection limit 1`); err != nil {
					t.Error(err)
				}
				if _, err := admin.Exec(t.Context(), endSessions); err != nil {
					t.Error(err)
				}
				taken <- free
			}
			return nil
		}))
		config.Database = database(url)
		if forGood {
			config.ConnectTimeout, config.Grace = 2*time.Second, time.Second
		}
		done := r.begin(t.Context(), config)
		free := <-taken
		log.waitFor(t, "SQLSTATE 53300", 3)
		r.want(`select id from ebb.jobs where attempts > 0 and status not in ('running', 'done')`) // none is given back
		if !forGood {
			free()
		}
		report, err := done()
		if forGood {
			if err == nil || report.Lost == 0 || report.Claimed != report.Done+report.Lost || !strings.Contains(report.Error, "(SQLSTATE 53300); raise the role's") {
				t.Errorf("for good: %v, %+v", err, report)
			}
			continue
		}
		if err != nil || report.Done != 30 || report.Lost != 0 {
			t.Errorf("for a while: %v, %+v", err, report)
		}
		r.once(30)
		r.want(`select status, attempts, count(*) from ebb.jobs group by 1, 2`, "(done,1,30)")
	}
}
