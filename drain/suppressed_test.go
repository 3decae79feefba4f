package drain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// suppress makes a trigger that takes back the change of the rows that when is true of.
func (r *rig) suppress(when string) {
	r.Helper()
	r.exec(`create or replace function suppress() returns trigger language plpgsql as
		$$begin if ` + when + ` then return null; end if; return new; end$$;
		create or replace trigger suppress before update on ebb.jobs for each row execute function suppress()`)
}

// A row whose change a trigger suppresses is skipped and named, at every step, and keeps nobody else.
func TestSuppressedRows(t *testing.T) {
	const named = "a trigger on the table suppresses"
	t.Run("claim", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 20)`)
		r.suppress(`old.id <= 15 and new.status = 'running'`)
		config, log := logged(r.config(nil))
		report := r.run(config)
		if report.Done != 5 || report.Claimed != 5 || report.DueLeft != 15 || report.Stopped != drain.StoppedEmpty {
			t.Errorf("%+v", report)
		}
		if n := strings.Count(log.String(), named); n != 15 {
			t.Errorf("%d rows are named in\n%s", n, log)
		}
	})
	t.Run("claim of a job that runs alone", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload, lost) select '{}', 2 from generate_series(1, 3)`)
		r.suppress(`old.id = 1 and new.status = 'running'`)
		if report := r.run(r.config(nil)); report.Done != 2 || report.DueLeft != 1 {
			t.Errorf("%+v", report)
		}
	})
	t.Run("settle", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 12)`)
		r.suppress(`old.id in (3, 4) and new.status = 'done'`)
		config, log := logged(r.config(nil))
		report := r.run(config)
		if report.Done != 10 || report.Lost != 2 || report.Stopped != drain.StoppedEmpty || strings.Count(log.String(), named) != 2 {
			t.Errorf("%+v\n%s", report, log)
		}
		r.want(`select id, status, attempts from ebb.jobs where status <> 'done' order by id`, "(3,running,1)", "(4,running,1)")
	})
	t.Run("reap", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload, status, attempts, locked_until) select '{}', 'running', 1, now() from generate_series(1, 20)`)
		r.suppress(`old.id <= 15 and new.status = 'queued'`)
		config, log := logged(r.config(nil))
		report := r.run(config)
		if report.Reaped != 5 || report.Done != 5 || strings.Count(log.String(), named) != 15 {
			t.Errorf("%+v\n%s", report, log)
		}
	})
	t.Run("release", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 10)`)
		r.suppress(`old.id in (7, 8) and new.status = 'queued'`)
		ctx, stop := context.WithCancel(t.Context())
		config := r.config(func(context.Context, drain.Job) error { stop(); return nil })
		config.Concurrency = 1
		if report := r.background(ctx, config)(); report.Done != 1 || report.Released != 7 || report.Lost != 2 {
			t.Errorf("%+v", report)
		}
	})
	t.Run("extend", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 2)`)
		r.suppress(`old.id = 1 and old.status = 'running' and new.status = 'running'`)
		config, log := logged(r.config(func(ctx context.Context, job drain.Job) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(2500 * time.Millisecond): // longer than two leases
				return nil
			}
		}))
		config.Lease = time.Second
		if report := r.run(config); report.Done != 1 || report.Lost != 1 || !strings.Contains(log.String(), named) {
			t.Errorf("%+v\n%s", report, log)
		}
	})
}

// An error that every row gives is the run's: it ends with one line, and does not go through the backlog with it.
func TestErrorsOfEveryRow(t *testing.T) {
	always := func(when string) string {
		return `create function refuse() returns trigger language plpgsql as
			$$begin if ` + when + ` then raise exception 'not today'; end if; return new; end$$;
			create trigger refuse before update on ebb.jobs for each row execute function refuse()`
	}
	for _, c := range []struct {
		name, setup string
		config      func(*drain.Config)
	}{
		{"claim", always("new.status = 'running'"), nil},
		{"claim, one at a time", always("new.status = 'running'"), func(c *drain.Config) { c.Batch = 1 }},
		{"claim, the first rows for another reason", `alter table ebb.jobs add check (id > 2 or status = 'queued');` + always("new.status = 'running'"), nil},
		{"settle", always("new.status = 'done'"), func(c *drain.Config) { c.Grace = 2 * time.Second }},
		{"reap", `update ebb.jobs set status = 'running', attempts = 1, locked_until = now() where id <= 100;` + always("old.status = 'running'"), func(c *drain.Config) { c.Grace = 2 * time.Second }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 300)`)
			r.exec(c.setup)
			config, log := logged(r.config(nil))
			if c.config != nil {
				c.config(&config)
			}
			report, err := r.try(context.Background(), config)
			if err == nil || report.Stopped != drain.StoppedError || !strings.Contains(report.Error, "not today") || report.Exchanges > 160 {
				t.Errorf("%v, %+v", err, report)
			}
			if n := strings.Count(log.String(), "cannot be"); n > 2 {
				t.Errorf("%d lines of\n%s", n, log)
			}
			r.want(`select count(*) from ebb.jobs where status = 'done'`, "(0)")
		})
	}
}

// Rows that all fail alike keep nobody else from being done, wherever the others stand.
func TestBadRowsAmongOthers(t *testing.T) {
	const refuse = `create function refuse() returns trigger language plpgsql as
		$$begin if old.payload ? 'bad' then raise exception 'not %', old.id; end if; return new; end$$;
		create trigger refuse before update on ebb.jobs for each row execute function refuse()`
	bad := func(rows int, ago string) string {
		return fmt.Sprintf(`insert into ebb.jobs (payload, run_at) select '{"bad": 1}', now() - interval '%s' from generate_series(1, %d);`, ago, rows)
	}
	const good = `insert into ebb.jobs (payload, run_at) select '{}', now() - interval '30 min' from generate_series(1, 5);`
	const expired = `insert into ebb.jobs (payload, status, attempts, locked_until) select `
	for name, setup := range map[string]string{
		"expired ones, others are due": expired + `'{"bad": 1}', 'running', 1, now() from generate_series(1, 15);` + good,
		"before and after":             bad(15, "1 h") + good + bad(15, "1 min"),
		"many before":                  bad(60, "1 h") + good,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(setup)
			r.exec(refuse)
			if report := r.run(r.config(nil)); report.Done != 5 {
				t.Errorf("%+v", report)
			}
			r.want(`select count(*) from ebb.jobs where status = 'done' or payload ? 'bad'`, r.rows(`select count(*) from ebb.jobs`)...)
		})
	}
	t.Run("more than one reap has", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.exec(expired + `case when n <= 1200 then '{"bad": 1}' else '{}' end::jsonb, 'running', 1, now() - interval '1 h' from generate_series(1, 1205) n`)
		r.suppress(`old.payload ? 'bad'`)
		config, log := logged(r.config(nil))
		if report := r.run(config); report.Reaped != 5 || report.Done != 5 {
			t.Errorf("%+v", report)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n > 60 {
			t.Errorf("%d lines of the log", n)
		}
	})
}
