//go:build unix

package drain_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A wire is one direction of a connection: it passes bytes on, notes where messages end, and ends the connection after
// a given number of bytes; -1: never.
type wire struct {
	passed     int
	boundaries []int
	cutAfter   int
}

// pass copies until the cut or the end. startup is whether the first message has no type byte, as a client's has not.
func (w *wire) pass(to io.Writer, from io.Reader, startup bool) {
	head := 5
	if startup {
		head = 4
	}
	var header []byte
	left := 0 // of the current message's body
	buf := make([]byte, 8192)
	for {
		n, err := from.Read(buf)
		chunk := buf[:n]
		if w.cutAfter >= 0 && w.passed+n > w.cutAfter {
			chunk = chunk[:w.cutAfter-w.passed]
		}
		if _, err := to.Write(chunk); err != nil {
			return
		}
		for _, b := range chunk {
			w.passed++
			if left > 0 {
				left--
			} else if header = append(header, b); len(header) == head {
				left = int(binary.BigEndian.Uint32(header[head-4:])) - 4
				header, head = nil, 5
			}
			if left == 0 && len(header) == 0 {
				w.boundaries = append(w.boundaries, w.passed)
			}
		}
		if err != nil || len(chunk) < n || w.passed == w.cutAfter {
			return
		}
	}
}

// A cutter is a door that cuts the first connection through it.
type cutter struct {
	toServer, toClient wire
	done               chan struct{} // closed when the first connection is over
}

func (r *rig) cutter(toServer, toClient int) (*cutter, string) {
	c := &cutter{wire{cutAfter: toServer}, wire{cutAfter: toClient}, make(chan struct{})}
	_, url := r.door(func(n int, client net.Conn) bool {
		if n > 1 {
			return true
		}
		defer close(c.done)
		server, err := net.Dial("tcp", r.server())
		if err != nil {
			return false
		}
		defer server.Close()
		var both sync.WaitGroup
		both.Go(func() { c.toServer.pass(server, client, true); client.Close(); server.Close() })
		both.Go(func() { c.toClient.pass(client, server, false); client.Close(); server.Close() })
		both.Wait()
		return false
	})
	return c, url
}

// cutRun drains six jobs of every ending through a wire that is cut, and judges by rows, effects and report that
// nothing was lost, nothing done twice, and nothing charged twice.
func cutRun(r *rig, toServer, toClient int) *cutter {
	r.exec(`truncate ebb.jobs, ebb.jobs_runs restart identity`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 6)`)
	c, url := r.cutter(toServer, toClient)
	r.seen = nil
	config := r.config(func(_ context.Context, job drain.Job) error {
		switch job.ID {
		case 2:
			return errors.New("no")
		case 4:
			return drain.Fail(errors.New("never"))
		case 5:
			return drain.Suspend(errors.New("not now"))
		}
		return nil
	})
	config.Database, config.Batch, config.Concurrency = database(url), 2, 2
	config.Log = slog.New(slog.DiscardHandler)
	report, err := r.try(context.Background(), config)
	<-c.done
	where := func() { r.Errorf("cut after %d to the server, %d to the client", toServer, toClient) }
	if err != nil || report.Stopped != drain.StoppedEmpty || report.Lost != 0 {
		where()
		r.Errorf("%v, %+v", err, report)
	}
	ids := r.ids()
	slices.Sort(ids)
	if !slices.Equal(ids, slices.Compact(slices.Clone(ids))) {
		where()
		r.Errorf("jobs done twice: %v", ids)
	}
	wrong := r.rows(`select id, status, attempts, lost, last_error from ebb.jobs where not case
		when id in (1, 3) then status = 'done' and attempts = 1 and lost = 0 and last_error is null
		when id = 2 then status = 'queued' and attempts = 1 and lost = 0 and run_at > now() and last_error ~ '^attempt 1 of 5.*no$'
		when id = 4 then status = 'failed' and attempts = 1 and lost = 0 and last_error ~ '^attempt 1 of 5.*never$'
		when id = 5 then status = 'queued' and attempts = 0 and lost = 0 and run_at > now()
		else status = 'done' and attempts = 1 or status = 'queued' and attempts = 0 and run_at <= now() end`)
	if len(wrong) > 0 {
		where()
		r.Errorf("%q", wrong)
	}
	r.want(`select count(*) from ebb.jobs_runs where done + retried + failed + released = claimed`, "(1)")
	return c
}

// The connection is cut at every message boundary of a whole run, and one byte before and after it, in either
// direction; with CUT_EVERYWHERE set, at every byte.
func TestCutAnywhere(t *testing.T) {
	r := newRig(t)
	whole := cutRun(r, -1, -1)
	if len(whole.toServer.boundaries) < 50 || len(whole.toClient.boundaries) < 50 {
		t.Fatalf("%d messages to the server, %d to the client", len(whole.toServer.boundaries), len(whole.toClient.boundaries))
	}
	type cut struct{ toServer, toClient int }
	var cuts []cut
	for _, n := range places(whole.toServer) {
		cuts = append(cuts, cut{n, -1})
	}
	for _, n := range places(whole.toClient) {
		cuts = append(cuts, cut{-1, n})
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	began := time.Now()
	for range 4 {
		workers.Go(func() {
			r := &rig{T: t, url: schematest.New(t)}
			r.db = schematest.Connect(t, r.url)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(cuts) || t.Failed() {
					return
				}
				cutRun(r, cuts[i].toServer, cuts[i].toClient)
			}
		})
	}
	workers.Wait()
	t.Logf("%d cuts in %v", min(int(next.Load()), len(cuts)), time.Since(began).Round(time.Second))
}

func places(w wire) (at []int) {
	if os.Getenv("CUT_EVERYWHERE") != "" {
		for n := range w.passed {
			at = append(at, n)
		}
		return at
	}
	for _, b := range w.boundaries {
		at = append(at, b-1, b, b+1)
	}
	slices.Sort(at)
	return slices.Compact(at)
}
