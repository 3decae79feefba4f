//go:build unix

package drain_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// The limit of a scheduled function, all of it four times as fast: much is due, one handler at a time, and at
// the limit nothing runs that the platform could kill.
func TestNothingRunsAtTheLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 1000)`)
	const limit, timeout = 5 * time.Second, 2 * time.Second
	var started []time.Time
	config, log := logged(r.config(func(ctx context.Context, _ drain.Job) error {
		started = append(started, time.Now()) // one at a time
		select {
		case <-time.After(750 * time.Millisecond): // the work
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	config.Started, config.MaxRuntime, config.JobTimeout, config.Concurrency = time.Now(), limit, timeout, 1
	report := r.run(config)
	if took := time.Since(config.Started); took > limit {
		t.Errorf("it took %v", took)
	}
	r.want(`select id from ebb.jobs where status = 'running'`)
	if report.Stopped != drain.StoppedTime || report.Done != len(started) || report.Done == 0 || report.Lost+report.Retried+report.Abandoned > 0 || report.DueLeft != 1000-report.Done {
		t.Errorf("%+v\n%s", report, log)
	}
	r.want(`select count(*) from ebb.jobs where status = 'queued' and attempts = 0 and lost = 0`, fmt.Sprintf("(%d)", report.DueLeft))
	if last := started[len(started)-1].Sub(config.Started); last > limit-timeout {
		t.Errorf("the last job was started %v after the beginning, which leaves less than it may take", last)
	}
}

// A process that is frozen in the middle of a handler for longer than its lease, and thawed: what another run
// took meanwhile is that run's, and nothing is written over it.
func TestThawedAfterTheLease(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) select '{"do": "slow"}' from generate_series(1, 6)`)
		path := filepath.Join(t.TempDir(), "effects")
		cmd := program(t, path, r.url, "EBB_LEASE=1s", "EBB_CONCURRENCY=1", "EBB_BATCH=1", "EBB_LOG=text", "EBB_GRACE=1s")
		frozen := r.freeze(cmd.Process, path)
		r.wait(r.db, `select locked_until < now() - interval '1 s' from ebb.jobs where id = $1`, frozen)
		if taken {
			if other := r.run(r.config(nil)); other.Reaped != 1 || other.Done == 0 {
				t.Errorf("%+v", other)
			}
			r.want(`select status, attempts, lost from ebb.jobs where id = `+fmt.Sprint(frozen), "(done,2,1)")
		}
		r.exec(`create table before as select * from ebb.jobs where status = 'done'`)
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		err := cmd.Wait()
		log, _ := os.ReadFile(cmd.Stderr.(*os.File).Name())
		if err != nil {
			t.Errorf("taken %v: %v\n%s", taken, err, log)
		}
		r.want(`select * from before except select * from ebb.jobs`) // what was settled stays as it was
		if taken {
			if !strings.Contains(string(log), "the lease on the job is lost") {
				t.Errorf("the log does not say that the lease is lost:\n%s", log)
			}
		} else { // by nobody: the attempt is settled as its own, or left to the reaper
			r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where status = 'running'`)
			r.run(r.config(nil))
			r.want(`select id from ebb.jobs where status <> 'done' or attempts <> lost + 1`)
		}
		r.want(`select count(*) from ebb.jobs where status = 'done'`, "(6)")
	}
}

// freeze stops a process while one of its handlers works, and gives the job.
func (r *rig) freeze(process *os.Process, path string) (id int64) {
	r.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		process.Signal(syscall.SIGSTOP)
		for _, line := range effects(r.T, path) {
			fmt.Sscan(line, &id)
		}
		if len(r.rows(`select from ebb.jobs where status = 'running' and id = $1`, id)) == 1 {
			return id
		}
		process.Signal(syscall.SIGCONT) // it was between two jobs
	}
	r.Fatal("no handler was caught at work")
	return 0
}
