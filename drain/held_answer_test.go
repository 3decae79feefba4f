package drain_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// A holder is a door that keeps back one answer of the first connection, the committed exchange's with the given number,
// and then cuts the connection.
type holder struct {
	passes int           // so many answers come through
	held   chan struct{} // closed when the answer is here, so that all of it is committed
	cut    chan struct{} // closed to cut the connection
}

func newHolder(passes int) *holder {
	return &holder{passes, make(chan struct{}), make(chan struct{})}
}

func (h *holder) treat(server string) func(int, net.Conn) bool {
	return func(n int, client net.Conn) bool {
		if n > 1 {
			return true
		}
		conn, err := net.Dial("tcp", server)
		if err != nil {
			return false
		}
		var both sync.WaitGroup
		both.Go(func() { io.Copy(conn, client); conn.Close() })
		both.Go(func() {
			defer client.Close()
			defer conn.Close()
			buf := make([]byte, 64<<10)
			for passes := h.passes + 1; ; { // the server is ready once more when the connection begins
				n, err := conn.Read(buf)
				if passes > 0 {
					client.Write(buf[:n])
				}
				if bytes.HasSuffix(buf[:n], ready) {
					passes--
				}
				if passes < 0 {
					close(h.held)
					<-h.cut
					return
				}
				if err != nil {
					return
				}
			}
		})
		both.Wait()
		return false
	}
}

// A stop while the first exchange is under way: what it claimed never started, and is given back within the grace, and
// the run is recorded.
func TestStopInTheFirstExchange(t *testing.T) {
	for _, c := range []struct {
		name    string
		stopped string
		cuts    bool // the connection ends; else its answer never comes
		change  func(*drain.Config)
	}{
		{"a signal", drain.StoppedSignal, true, func(*drain.Config) {}},
		{"a signal, and silence", drain.StoppedSignal, false, func(c *drain.Config) { c.Grace = 3 * time.Second }},
		{"the end of the budget", drain.StoppedTime, true, func(c *drain.Config) {
			c.MaxRuntime, c.Grace, c.JobTimeout = 4*time.Second, 3*time.Second, 500*time.Millisecond
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 5)`)
			r.exec(`create table before as select * from ebb.jobs`)
			h := newHolder(0)
			_, url := r.door(h.treat(r.server()))
			config, log := logged(r.config(nil))
			config.Database = database(url)
			c.change(&config)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			began := time.Now()
			done := r.begin(ctx, config)
			<-h.held
			r.want(`select count(*) from ebb.jobs where status = 'running'`, "(5)")
			if c.stopped == drain.StoppedSignal {
				stop()
			}
			log.waitFor(t, "stopping", 1)
			if c.cuts {
				close(h.cut)
			} else {
				t.Cleanup(func() { close(h.cut) })
			}
			report, err := done()
			if err != nil || report.Stopped != c.stopped || report.Claimed != 0 || !report.Looked {
				t.Errorf("%v, %+v", err, report)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("it took %v", took)
			}
			r.want(`select count(*) from ebb.jobs j join before b using (id) where j.status = 'queued' and j.attempts = 0 and j.lost = 0 and j.run_at = b.run_at`, "(5)")
			r.want(`select stopped, claimed from ebb.jobs_runs`, "("+c.stopped+",0)")
			r.once(0)
		})
	}
}

// What a run reaps or fails in an exchange whose answer is lost counts, and is named, as if the answer had come.
func TestLostAnswerToAReap(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, status, attempts, max_attempts, locked_until, locked_by) values
		('{}', 'running', 5, 5, now() - interval '1 s', 'another'), ('{}', 'running', 3, 3, null, null),
		('{}', 'running', 1, 5, now() - interval '1 s', 'another')`)
	r.exec(`insert into ebb.jobs (payload, attempts, max_attempts) values ('{}', 7, 7)`)
	h := newHolder(0)
	_, url := r.door(h.treat(r.server()))
	config, log := logged(r.config(nil))
	config.Database = database(url)
	done := r.background(t.Context(), config)
	<-h.held
	close(h.cut)
	report := done()
	if report.Reaped != 4 || report.FailedForGood != 3 || report.Done != 1 || report.Claimed != 1 {
		t.Errorf("%+v", report)
	}
	if n := strings.Count(log.String(), "taken back: "); n != 4 {
		t.Errorf("%d rows are named in\n%s", n, log)
	}
	r.want(`select id, status from ebb.jobs order by id`, "(1,failed)", "(2,failed)", "(3,done)", "(4,failed)")
	r.want(`select reaped from ebb.jobs_runs`, "(4)")
}

// The grace's end cuts a settling exchange that is committed: what it settled is looked up, and counts as what it is.
func TestGraceCutsASettlementThatIsDone(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 5)`)
	h := newHolder(1)
	_, url := r.door(h.treat(r.server()))
	t.Cleanup(func() { close(h.cut) })
	ctx, stop := context.WithCancel(t.Context())
	config, log := logged(r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 5 {
			return drain.Fail(errors.New("no"))
		}
		return nil
	}))
	config.Database, config.Grace = database(url), time.Second
	done := r.background(ctx, config)
	<-h.held
	stop()
	report := done()
	if report.Done != 4 || report.Failed != 1 || report.FailedForGood != 1 || report.Lost != 0 || report.Stopped != drain.StoppedSignal {
		t.Errorf("%+v", report)
	}
	if strings.Contains(log.String(), "may run again") {
		t.Errorf("an alarm in\n%s", log)
	}
	r.want(`select done, failed, lost from ebb.jobs_runs`, "(4,1,0)")
}

// A connection that falls silent at a settling exchange does not eat up the grace: the exchange is made again over another
// one while there is time.
func TestSilenceWhileStopping(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 20)`)
	h := newHolder(1)
	_, url := r.door(h.treat(r.server()))
	t.Cleanup(func() { close(h.cut) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	config, log := logged(r.config(nil))
	config.Database, config.Grace = database(url), 8*time.Second
	began := time.Now()
	done := r.background(ctx, config)
	<-h.held
	stop()
	report := done()
	if report.Done != 10 || report.Lost != 0 || report.Stopped != drain.StoppedSignal || !report.Looked {
		t.Errorf("%+v\n%s", report, log)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it took %v of the grace", took)
	}
	r.want(`select status, count(*) from ebb.jobs group by 1 order by 1`, "(done,10)", "(queued,10)")
}
