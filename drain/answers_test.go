package drain_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

// A thief takes one exchange away from the first connection through a door, from the moment that waits is set.
type thief struct {
	answer bool // the answer, after the commit; else the question, before it arrives
	waits  atomic.Bool
	took   atomic.Bool
}

// ready is how a server ends an answer: it is not in a transaction any more.
var ready = []byte{'Z', 0, 0, 0, 5, 'I'}

func (f *thief) treat(server string) func(int, net.Conn) bool {
	return func(n int, client net.Conn) bool {
		if n > 1 {
			return true
		}
		conn, err := net.Dial("tcp", server)
		if err != nil {
			return false
		}
		closeBoth := func() { conn.Close(); client.Close() }
		pass := func(to, from net.Conn, steals bool) {
			defer closeBoth()
			buf := make([]byte, 64<<10)
			for {
				n, err := from.Read(buf)
				if steals && f.waits.Load() {
					f.took.Store(true)
					if !f.answer || err != nil || bytes.HasSuffix(buf[:n], ready) {
						return
					}
					continue
				}
				if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
					return
				}
			}
		}
		var both sync.WaitGroup
		both.Go(func() { pass(conn, client, !f.answer) })
		both.Go(func() { pass(client, conn, f.answer) })
		both.Wait()
		return false
	}
}

// What a job came to was written and the answer lost, or the question was. It is written once, counted as what
// it is, without an alarm about the lease, and the job is not done again when that is over.
func TestLostAnswerToASettle(t *testing.T) {
	t.Parallel()
	for _, end := range []struct {
		name   string
		err    error
		counts func(drain.Report) int
		row    string
	}{
		{"done", nil, func(p drain.Report) int { return p.Done }, "(done,1,0,,0)"},
		{"retried", errors.New("no"), func(p drain.Report) int { return p.Retried }, "(queued,1,0,t,1)"},
		{"failed", drain.Fail(errors.New("never")), func(p drain.Report) int { return p.Failed }, "(failed,1,0,t,1)"},
		{"given back", drain.Suspend(errors.New("not now")), func(p drain.Report) int { return p.Released }, "(queued,0,0,t,1)"},
	} {
		for _, answer := range []bool{true, false} {
			name := end.name + ", the question lost"
			if answer {
				name = end.name + ", the answer lost"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.exec(`insert into ebb.jobs (payload) values ('{}')`)
				f := &thief{answer: answer}
				_, url := r.door(f.treat(r.server()))
				config, log := logged(r.config(func(context.Context, drain.Job) error {
					f.waits.Store(true)
					return end.err
				}))
				config.Database = database(url)
				report := r.run(config)
				if !f.took.Load() || end.counts(report) != 1 || report.Claimed != 1 || report.Lost != 0 {
					t.Errorf("took %v, %+v", f.took.Load(), report)
				}
				if text := log.String(); strings.Contains(text, "lease") || strings.Contains(text, "level=ERROR") && end.name != "failed" {
					t.Errorf("an alarm in\n%s", text)
				}
				const row = `select status, attempts, lost, last_error ~ '^attempt 1 of 5' as told,
					(select count(*) from regexp_matches(coalesce(last_error, ''), 'attempt \d+ of', 'g')) as times from ebb.jobs`
				r.want(row, end.row)
				// The lease runs out, and somebody comes by.
				r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where locked_until is not null`)
				if again := r.run(r.config(nil)); again.Reaped+again.Claimed > 0 {
					t.Errorf("%+v", again)
				}
				r.want(row, end.row)
				r.once(1)
			})
		}
	}
}
