package drain_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/jobs"
	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// The tables change under a run. It ends, says why, and claims nothing more; what it held is done by the next run that
// knows the tables.
func TestTablesChangeUnderARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, change, back, says string }{
		{"newer", `update ebb.jobs_version set version = version + 6, oldest = version + 1`, `update ebb.jobs_version set version = version - 6, oldest = 1`, "this ebb knows only"},
		{"older", `update ebb.jobs_version set version = 0`, `update ebb.jobs_version set version = $1`, "run: ebb migrate"},
		{"renamed", `alter table ebb.jobs rename to jobs_old`, `alter table ebb.jobs_old rename to jobs`, "does not exist (SQLSTATE 42P01); ebb's tables were changed"},
		{"column", `alter table ebb.jobs rename lost to misplaced`, `alter table ebb.jobs rename misplaced to lost`, "does not exist (SQLSTATE 42703); ebb's tables were changed"},
		{"schema", `alter schema ebb rename to flow`, `alter schema flow rename to ebb`, "does not exist (SQLSTATE 42P01); ebb's tables were changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
			config := r.config(func(_ context.Context, job drain.Job) error {
				if job.ID == 5 {
					r.exec(c.change)
					if c.name == "newer" || c.name == "older" { // the version is looked at once a connection
						r.exec(endSessions)
					}
				}
				return nil
			})
			config.Database, config.Grace = database(schematest.Direct(r.url)), time.Second // it ends its sessions
			report, err := r.try(t.Context(), config)
			if err == nil || errors.Is(err, drain.ErrRefused) || !strings.Contains(report.Error, c.says) || strings.Contains(report.Error, "\n") {
				t.Errorf("%v, %+v", err, report)
			}
			if report.Stopped != drain.StoppedError || report.Lost == 0 || report.Claimed != report.Done+report.Lost || report.Claimed > 10+report.Done {
				t.Errorf("%+v", report)
			}
			if c.name == "older" {
				r.exec(c.back, drain.SchemaVersion)
			} else {
				r.exec(c.back)
			}
			r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where status = 'running'`)
			if again := r.run(r.config(nil)); again.Reaped != report.Lost || again.Done != 30-report.Done {
				t.Errorf("%+v", again)
			}
			r.want(`select status, count(*) from ebb.jobs group by 1`, "(done,30)")
		})
	}
}

// A publication with a filter forbids every update. Why that is so is in the error's detail.
func TestPublication(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{"secret": 1}')`)
	r.exec(`set client_min_messages = error; create publication filtered for table ebb.jobs where (queue = 'mail')`)
	report, err := r.try(t.Context(), r.config(nil))
	if err == nil || !strings.Contains(report.Error, "(SQLSTATE 42P10); DETAIL: Column used in the publication WHERE expression is not part of the replica identity") {
		t.Errorf("%v, %+v", err, report)
	}
}

// A version that comes while the connection stands is of no matter to this run, only to the next.
func TestNewVersionBetweenRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	config := r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 5 {
			r.exec(`update ebb.jobs_version set version = version + 1, oldest = version + 1`)
		}
		return nil
	})
	if report := r.run(config); report.Done != 30 {
		t.Errorf("%+v", report)
	}
	r.once(30)
	if report, err := r.try(t.Context(), config); !errors.Is(err, drain.ErrRefused) || report.Claimed > 0 {
		t.Errorf("%v, %+v", err, report)
	}
}

// A migration that only adds to the tables stops no program that was written before it: neither its runs, nor its other
// commands, nor its own ebb migrate.
func TestTablesThatAreNewerAndStillWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`alter table ebb.jobs add column color text default 'red'; alter table ebb.jobs_runs add column mood text;
		update ebb.jobs_version set version = version + 2`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	if report := r.run(r.config(nil)); report.Done != 3 {
		t.Errorf("%+v", report)
	}
	if err := schema.Migrate(t.Context(), r.db, "ebb", slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	r.want(`select version, oldest from ebb.jobs_version`, "(3,1)")
	if s, err := jobs.Look(t.Context(), r.db, "ebb", 1); err != nil || s.Version != 3 || s.Oldest != 1 {
		t.Errorf("%v, %+v", err, s)
	}
}
