package drain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A lock on the table of jobs while handlers finish, for longer than an exchange waits: what is finished is asked again,
// and none of it is lost, also at a job's last attempt.
func TestTableLockWhileJobsFinish(t *testing.T) {
	for _, lock := range []string{`lock table ebb.jobs`, `create index on ebb.jobs (created_at)`} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload, attempts) select '{}', 4 from generate_series(1, 4)`)
			hand := schematest.Connect(t, r.url)
			var end func(...string)
			finish := make(chan struct{})
			config, log := logged(r.config(func(_ context.Context, job drain.Job) error {
				<-finish
				return nil
			}))
			config.Concurrency = 3 // the fourth starts while the table is locked
			done := r.background(t.Context(), config)
			r.wait(r.db, `select count(*) >= 3 from ebb.jobs where status = 'running'`)
			end = execOn(t, hand, `begin`, lock)
			close(finish)
			log.waitFor(t, "the table of jobs is locked", 1)
			end(`commit`)
			report := done()
			if report.Done != 4 || report.Lost != 0 || report.Stopped != drain.StoppedEmpty {
				t.Errorf("%+v\n%s", report, log)
			}
			r.once(4)
			if text := log.String(); strings.Contains(text, "level=ERROR") {
				t.Errorf("an alarm in\n%s", text)
			}
		})
	}
}

// What a trigger waits for is no row's fault either, and no lock on the table: the others are settled meanwhile.
func TestLockThatATriggerWaitsFor(t *testing.T) {
	r := newRig(t)
	r.exec(`create table audit (id int primary key, n int); insert into audit values (1, 0);
		create function note() returns trigger language plpgsql as
			$$begin if new.id <= 2 and new.status = 'done' then update audit set n = n + 1; end if; return new; end$$;
		create trigger note before update on ebb.jobs for each row execute function note()`)
	r.exec(`insert into ebb.jobs (payload, attempts) select '{}', 4 from generate_series(1, 10)`)
	hand := schematest.Connect(t, r.url)
	end := execOn(t, hand, `begin`, `select from audit for update`)
	config, log := logged(r.config(nil))
	done := r.background(t.Context(), config)
	r.wait(r.db, `select count(*) = 8 from ebb.jobs where status = 'done'`)
	end(`commit`)
	if report := done(); report.Done != 10 || report.Lost != 0 || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("%+v\n%s", report, log)
	}
}
