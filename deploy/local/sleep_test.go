//go:build unix

package local_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
)

// The proof that the database really sleeps: ebb as a program, on a compute that pauses.

const quickly = `echo $EBB_JOB_ID >>$OUT`

var families = []local.Family{local.CountsActivity, local.CountsConnections}

func TestTheDatabaseSleeps(t *testing.T) {
	t.Parallel()
	for _, family := range families {
		t.Run(family.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, local.ComputeOptions{Family: family, ResumeTime: 300 * time.Millisecond})
			pausesBetweenWakes(r)
			pausesAfterACrash(r)
			pausesWhileLingering(r)
			r.nothingBetweenRuns()
			neverPausesForAPollingWorker(r)
		})
	}
}

// Jobs for three wakes, and one that finds nothing: the compute pauses between all of them.
func pausesBetweenWakes(r *rig) {
	r.insert(`SELECT '{}', now() FROM generate_series(1, 30)`)
	for _, want := range []int{10, 10, 10, 0} {
		report := r.wake(1, func() drain.Report { return r.start(quickly, "EBB_MAX_JOBS=10").wait(0) })
		if report.Done != want || report.ConnectMS < 300 {
			r.Errorf("%+v", report)
		}
	}
	if lines := r.lines(); len(lines) != 30 {
		r.Errorf("%d jobs were done: %v", len(lines), lines)
	}
}

// kill -9 in the middle of a job leaves nothing that keeps the compute awake, and the next wake does the job again.
func pausesAfterACrash(r *rig) {
	before := len(r.lines())
	r.insert(`VALUES ('{}', now())`)
	r.wake(1, func() drain.Report {
		e := r.start(`echo $EBB_JOB_ID >>$OUT; exec sleep 60`)
		await(r.T, "the handler", 20*time.Second, func() bool { return len(r.lines()) > before })
		e.Process.Kill()
		return e.wait(-1)
	})
	r.do(`UPDATE ebb.jobs SET locked_until = now() - interval '1 s' WHERE status = 'running'`)
	report := r.wake(1, func() drain.Report { return r.start(quickly).wait(0) })
	if report.Reaped != 1 || report.Done != 1 {
		r.Errorf("%+v", report)
	}
}

// A run that lingers for a job about to fall due lets the compute pause until then.
func pausesWhileLingering(r *rig) {
	r.insert(`VALUES ('{}', now()), ('{}', now() + interval '8 s')`)
	r.untilPaused()
	began := time.Now()
	report := r.wake(2, func() drain.Report { return r.start(quickly, "EBB_LINGER=20s").wait(0) })
	if report.Done != 2 || report.Stopped != drain.StoppedEmpty || r.opened(began) != 2 {
		r.Errorf("%d connections: %+v", r.opened(began), report)
	}
	r.want(`SELECT (max(started_at) - max(run_at) < interval '2 s')::text FROM ebb.jobs`, "true")
}

// A worker that polls never lets the compute pause, so that this rig can tell the difference.
func neverPausesForAPollingWorker(r *rig) {
	worker := r.connect("worker")
	began := time.Now()
	for time.Since(began) < 2*(idleTimeout+slack) {
		if _, err := worker.Exec(r.Context(), `SELECT id FROM ebb.jobs WHERE status = 'queued' LIMIT 1 FOR UPDATE SKIP LOCKED`); err != nil {
			r.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if r.did(local.Pausing, began) {
		r.Error("the compute paused under a worker that polls")
	}
	worker.Close(r.Context())
	r.untilPaused()
}

// A handler that works for longer than the idle timeout: the compute pauses meanwhile, and is resumed to settle what
// was done once. Where connections count that takes ten seconds more, until ebb lets its own go.
func TestPausesUnderALongHandler(t *testing.T) {
	t.Parallel()
	for family, works := range map[local.Family]time.Duration{
		local.CountsActivity:    idleTimeout + slack + time.Second,
		local.CountsConnections: idleTimeout + slack + 10*time.Second,
	} {
		t.Run(family.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, local.ComputeOptions{Family: family})
			r.insert(`VALUES ('{}', now())`)
			r.untilPaused()
			began := time.Now()
			report := r.wake(2, func() drain.Report {
				return r.start(fmt.Sprintf(`sleep %v; echo $EBB_JOB_ID >>$OUT`, works.Seconds())).wait(0)
			})
			// One exchange claims, one settles and finds nothing more, one records; the cut connection may cost one.
			if report.Done != 1 || report.Claimed != 1 || report.Exchanges > 4 || report.Stopped != drain.StoppedEmpty {
				t.Errorf("%+v", report)
			}
			if n := r.opened(began); n != 2 {
				t.Errorf("%d connections", n)
			}
			if lines := r.lines(); len(lines) != 1 {
				t.Errorf("done %d times", len(lines))
			}
			r.want(`SELECT concat_ws(' ', status, attempts, lost) FROM ebb.jobs`, "done 1 0")
			r.nothingBetweenRuns()
		})
	}
}

// What clients see while a compute resumes: the one that resumes it, and one that comes behind. ebb's wake gets through
// each, and says how long it took.
func TestManners(t *testing.T) {
	t.Parallel()
	const resumeTime = 1500 * time.Millisecond
	for manner, want := range map[local.Manner][2]func(error) bool{
		local.Held:     {isNil, isNil},
		local.Refused:  {is(syscall.ECONNRESET), is(syscall.ECONNREFUSED)},
		local.Starting: {isStarting, isStarting},
		local.Reset:    {is(syscall.ECONNRESET), is(syscall.ECONNRESET)},
	} {
		t.Run(manner.String(), func(t *testing.T) {
			t.Parallel()
			// Longer than ebb waits between two tries, so that it is not asleep again by the next one.
			r := newRig(t, local.ComputeOptions{Manner: manner, ResumeTime: resumeTime, IdleTimeout: 3 * time.Second})
			r.insert(`SELECT '{}', now() FROM generate_series(1, 3)`)
			r.untilPaused()
			for i, is := range want {
				conn, err := pgx.Connect(t.Context(), r.URL())
				if !is(err) {
					t.Errorf("client %d: %v", i, err)
				}
				if err == nil {
					conn.Close(t.Context())
				}
			}
			await(t, "it is there", 20*time.Second, func() bool { return r.Usage().Resumes == 1 })

			report := r.wake(1, func() drain.Report { return r.start(quickly, "EBB_CONNECT_TIMEOUT=20s").wait(0) })
			if report.Done != 3 || report.ConnectMS < resumeTime.Milliseconds() || report.ConnectMS > report.RunMS {
				t.Errorf("%+v", report)
			}
			// A patience that is too short ends with the last real error, and nothing was claimed.
			r.insert(`VALUES ('{}', now())`)
			r.untilPaused()
			r.start(quickly, "EBB_CONNECT_TIMEOUT=500ms").wait(1)
			r.want(`SELECT count(*)::text FROM ebb.jobs WHERE status = 'queued' AND attempts = 0`, "1")
			r.nothingBetweenRuns()
		})
	}
}

// A resume that holds clients for longer than ebb's first try waits is met by its second, and who gave up waiting does
// not reach the server behind ebb's back.
func TestHeldForLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, local.ComputeOptions{ResumeTime: 7 * time.Second})
	r.insert(`VALUES ('{}', now())`)
	r.untilPaused()
	began := time.Now()
	report := r.wake(1, func() drain.Report { return r.start(quickly, "EBB_CONNECT_TIMEOUT=20s").wait(0) })
	if report.Done != 1 || report.ConnectMS < 7000 || r.opened(began) != 1 {
		t.Errorf("%d connections: %+v", r.opened(began), report)
	}
	r.nothingBetweenRuns()
}

func isNil(err error) bool { return err == nil }
func is(errno error) func(err error) bool {
	return func(err error) bool { return errors.Is(err, errno) }
}

func isStarting(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57P03" && pg.Severity == "FATAL"
}
