package drain_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/jobs"
)

// A role whose defaults are hostile: jobs are enqueued, drained and shown as anywhere, or refused with one line that
// names the setting, and never silently otherwise.
func TestHostileRole(t *testing.T) {
	t.Parallel()
	planner := []string{}
	for _, way := range []string{"async_append", "bitmapscan", "gathermerge", "hashagg", "hashjoin", "incremental_sort", "indexonlyscan", "indexscan",
		"material", "memoize", "mergejoin", "nestloop", "parallel_append", "parallel_hash", "seqscan", "sort", "tidscan"} {
		planner = append(planner, "enable_"+way+" = off")
	}
	for _, c := range []struct {
		name     string
		settings []string
		refused  string // what the one line says
		may      string // what may be said to those who enqueue or look, in whose session ebb changes no setting
	}{
		{"planner", append(planner, "jit = off", "work_mem = '64kB'", "random_page_cost = 1000"), "", ""},
		{"plans", []string{"jit = on", "jit_above_cost = 0", "plan_cache_mode = force_generic_plan", "transform_null_equals = on"}, "", ""},
		{"deferrable", []string{"default_transaction_isolation = 'read committed'", "default_transaction_deferrable = on"}, "", ""},
		{"read uncommitted", []string{"default_transaction_isolation = 'read uncommitted'"}, "isolation level is read uncommitted", ""},
		{"repeatable read", []string{"default_transaction_isolation = 'repeatable read'"}, "isolation level is repeatable read", ""},
		{"serializable", []string{"default_transaction_isolation = 'serializable'", "default_transaction_deferrable = on"}, "isolation level is serializable", ""},
		{"read-only", []string{"default_transaction_read_only = on"}, "the session is read-only", ""},
		{"no path", []string{"search_path = ''"}, "", ""},
		{"shadow", []string{"search_path = shadow, ebb, pg_catalog"}, "", ""},
		{"hasty", []string{"statement_timeout = '1ms'"}, "", "canceling statement due to statement timeout (SQLSTATE 57014)"},
		{"timeouts", []string{"statement_timeout = '1s'", "lock_timeout = '1ms'", "deadlock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'"}, "", ""},
		{"idle", []string{"idle_session_timeout = '100ms'"}, "", "terminating connection due to idle-session timeout"},
		{"texts", []string{"timezone = 'Africa/Monrovia'", "DateStyle = 'ISO, DMY'", "IntervalStyle = 'sql_standard'", "extra_float_digits = -15"}, "", ""},
		{"other texts", []string{"timezone = '<-03>+3'", "IntervalStyle = 'iso_8601'", "bytea_output = escape", "client_encoding = 'SQL_ASCII'", "standard_conforming_strings = off", "backslash_quote = off"}, "", ""},
		{"German", []string{"DateStyle = 'German, DMY'"}, "DateStyle is German, DMY; set the role's to ISO, or add datestyle=ISO to DATABASE_URL", ""},
		{"SQL", []string{"DateStyle = 'SQL, MDY'"}, "DateStyle is SQL, MDY", ""},
		{"LATIN1", []string{"client_encoding = 'LATIN1'"}, "client_encoding is LATIN1; set the role's to UTF8, or add client_encoding=UTF8 to DATABASE_URL", ""},
		{"rows", []string{"row_security = off", "session_replication_role = replica", "synchronous_commit = off", "client_min_messages = debug5"}, "", ""},
		{"odd", []string{"plan_cache_mode = force_custom_plan", "array_nulls = off", "quote_all_identifiers = on", "xmloption = document", "default_table_access_method = 'none'"}, "", `invalid input syntax for type timestamp with time zone: "NULL"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`create schema shadow`)
			r.exec(`create table shadow.jobs (like ebb.jobs including defaults); create table shadow.jobs_runs (like ebb.jobs_runs including defaults); create table shadow.jobs_version (version int)`)
			r.exec(`insert into shadow.jobs (id, payload, queue, status, run_at, attempts, max_attempts, created_at) select 1, '{"shadow": 1}', 'default', 'queued', now(), 0, 1, now()`)
			url := r.role()
			for _, s := range c.settings {
				r.exec(`alter role ` + roleOf(t, url) + ` set ` + s)
			}
			const told = `"quoted\\", é € 😀 'apostrophe'`
			// A row each for what a program inserts, in its own session, and what ebb does, in the role's.
			r.exec(`insert into ebb.jobs (payload, run_at) select jsonb_build_object('text', $1::text), '2026-02-03 04:05:06.789+00' from generate_series(1, 12)`, told)
			r.exec(`insert into ebb.jobs (payload, status, attempts, locked_until) values ('{"text": "expired"}', 'running', 1, now() - interval '1 s')`)

			log := &logbook{}
			conn, err := drain.Connect(t.Context(), database(url), 10*time.Second, slog.New(slog.NewTextHandler(log, nil)))
			enqueued := 0
			if err == nil {
				defer conn.Close(context.Background())
				_, _, err = drain.Enqueue(t.Context(), conn, "ebb", drain.NewJob{Queue: "default", Payload: []byte(`{"text": "ebb é €"}`)})
				if err == nil {
					enqueued++
					var status jobs.Status
					if status, err = jobs.Look(t.Context(), conn, "ebb", 5); err == nil && (len(status.Queues) != 1 || int(status.Queues[0].Due) != 12+enqueued) {
						t.Errorf("status: %+v", status)
					}
				}
			}
			if err != nil && c.refused == "" && (c.may == "" || !strings.Contains(err.Error(), c.may)) {
				t.Errorf("enqueue, or status: %v", err)
			}

			config := r.config(func(_ context.Context, job drain.Job) error {
				switch {
				case string(job.Payload) == `{"text": "\"quoted\\\\\", é € 😀 'apostrophe'"}` && job.RunAt.Equal(time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)):
				case strings.Contains(string(job.Payload), "expired"), string(job.Payload) == `{"text": "ebb é €"}`:
				default:
					t.Errorf("the handler got %s of %v", job.Payload, job.RunAt)
				}
				switch job.ID {
				case 3:
					return errors.New("no é €")
				case 4:
					time.Sleep(300 * time.Millisecond) // past the idle session's timeout
				}
				return nil
			})
			config, log = logged(config)
			config.Database, config.Concurrency = database(url), 1
			report, err := r.try(t.Context(), config)
			r.want(`select count(*), min(payload::text), min(attempts) from shadow.jobs`, `(1,"{""shadow"": 1}",0)`)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "\n") || report.Claimed > 0 || len(r.ids()) > 0 {
					t.Errorf("%v, %+v", err, report)
				}
				if strings.Contains(log.String(), "again") {
					t.Errorf("it was tried again:\n%s", log)
				}
				return
			}
			if err != nil || report.Reaped != 1 || report.Done != 12+enqueued || report.Retried != 1 || report.Lost != 0 || report.Stopped != drain.StoppedEmpty {
				t.Errorf("%v, %+v\n%s", err, report, log)
			}
			r.want(`select id, status, attempts, last_error ~ 'no é €$' as told, run_at > now() + interval '15 s' as later from ebb.jobs where id = 3`, "(3,queued,1,t,t)")
			r.want(`select id, status from ebb.jobs where id <> 3 and status <> 'done'`)
			r.want(`select stopped, done, retried from ebb.jobs_runs`, fmt.Sprintf("(empty,%d,1)", report.Done))
		})
	}
}

// What row level security hides is not there for a run. That it is on is said.
func TestRowLevelSecurity(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload) values ('default', '{}')`)
	url := r.role()
	name := roleOf(t, url)
	r.exec(`alter role ` + name + ` nosuperuser; grant usage on schema ebb to ` + name + `; grant select, insert, update on all tables in schema ebb to ` + name)
	for _, on := range []bool{false, true} {
		if on {
			r.exec(`update ebb.jobs set status = 'queued', finished_at = null; alter table ebb.jobs enable row level security`)
		}
		var log logbook
		config := r.config(nil)
		config.Database, config.Log = database(url), slog.New(slog.NewTextHandler(&log, nil))
		report := r.run(config)
		if said := strings.Count(log.String(), "row level security is on for this role"); report.Done != 1 && !on || report.Done != 0 && on || (said == 1) != on {
			t.Errorf("with row level security %v: %+v\n%s", on, report, &log)
		}
	}
}
