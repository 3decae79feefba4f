package drain_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// hostile is an error whose text cannot be asked for.
type hostile struct{}

func (hostile) Error() string { panic("no text") }

// leaving is an error that ends the goroutine which asks for its text.
type leaving struct{}

func (leaving) Error() string { runtime.Goexit(); return "" }

type quiet struct{}

func (quiet) Error() string { return "" }

// Whatever way a handler ends, its job gets a failed attempt with a reason, and the others are done.
func TestHandlerEndings(t *testing.T) {
	r := newRig(t)
	var nilMap map[string]int
	endings := []struct {
		end  func() error
		text string
	}{
		{func() error { panic("x") }, "panic: string: x\n"},
		{func() error { panic(nil) }, "panic called with nil argument"},
		{func() error { panic(quiet{}) }, "panic: drain_test.quiet: (no text)\n"},
		{func() error { panic(struct{ A int }{7}) }, "panic: struct { A int }: {7}\n"},
		{func() error { nilMap["a"] = 1; return nil }, "assignment to entry in nil map\n"},
		{func() error { runtime.Goexit(); return nil }, "handler exited without returning"},
		{func() error { panic(hostile{}) }, "panic: drain_test.hostile: "},
		{func() error { return leaving{} }, "handler exited without returning"},
		{func() error { panic(leaving{}) }, "handler exited without returning"},
		{func() error { return hostile{} }, "PANIC=Error method: no text"},
		{func() error { return quiet{} }, "drain_test.quiet without a text"},
	}
	r.exec(`insert into ebb.jobs (payload) select jsonb_build_object('n', n) from generate_series(0, 18) n`)
	report := r.run(r.config(func(_ context.Context, job drain.Job) error {
		if n := int(job.ID) - 1; n < len(endings) {
			return endings[n].end()
		}
		return nil
	}))
	if report.Retried != len(endings) || report.Done != 19-len(endings) {
		t.Errorf("report %+v", report)
	}
	for n, e := range endings {
		var text string
		if err := r.db.QueryRow(t.Context(), `select coalesce(last_error, '') from ebb.jobs where id = $1 and status = 'queued' and attempts = 1`, n+1).Scan(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, "attempt 1 of 5, 20") || !strings.Contains(text, e.text) {
			t.Errorf("ending %d: last_error %q does not tell %q", n, text, e.text)
		}
		if strings.HasSuffix(e.text, "\n") && !strings.Contains(text, "handler_test.go") {
			t.Errorf("ending %d: last_error %q does not tell where", n, text)
		}
	}
}

func TestVerdicts(t *testing.T) {
	no := errors.New("no")
	for _, c := range []struct {
		name    string
		answer  error
		row     string // status, attempts, lost, finished, due in seconds
		report  string
		exclude string
	}{
		{"complete", nil, "(done,1,0,t,)", "done 1", ""},
		{"retry", no, "(queued,1,0,f,20)", "retried 1", ""},
		{"wrapped fail", fmt.Errorf("sending: %w", drain.Fail(no)), "(failed,1,0,t,)", "failed 1", ""},
		{"retry after", drain.RetryAfter(time.Hour, no), "(queued,1,0,f,3600)", "retried 1", ""},
		{"retry after less", drain.RetryAfter(time.Second, no), "(queued,1,0,f,20)", "retried 1", ""},
		{"suspend", drain.Suspend(no), "(queued,0,0,f,10)", "released 1 suspended [default]", ""},
		{"misconfigured", drain.Misconfigured(no), "(queued,0,1,f,10)", "released 1 misconfigured [default]", ""},
		{"not started", drain.NotStarted(no), "(queued,0,0,f,0)", "released 1 misconfigured [default]", ""},
		{"fail without a reason", drain.Fail(nil), "(failed,1,0,t,)", "failed 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) values ('{}')`)
			p := r.run(r.config(func(context.Context, drain.Job) error { return c.answer }))
			r.want(`select status, attempts, lost, finished_at is not null as finished,
				case when status = 'queued' then round(extract(epoch from run_at - now()))::int end as due from ebb.jobs`, c.row)
			var report strings.Builder
			for _, f := range []struct {
				name string
				n    int
			}{{"done", p.Done}, {"retried", p.Retried}, {"failed", p.Failed}, {"released", p.Released}} {
				if f.n > 0 {
					fmt.Fprintf(&report, "%s %d", f.name, f.n)
				}
			}
			if len(p.Suspended) > 0 {
				fmt.Fprintf(&report, " suspended %v", p.Suspended)
			}
			if len(p.Misconfigured) > 0 {
				fmt.Fprintf(&report, " misconfigured %v", p.Misconfigured)
			}
			if report.String() != c.report {
				t.Errorf("report says %q, want %q", report.String(), c.report)
			}
			if c.answer != nil {
				r.want(`select last_error ~ '^attempt 1 of 5, .*Z, run `+p.Run+`: ' from ebb.jobs`, "(t)")
			}
		})
	}
}

func TestSuspendStopsTheQueueAndNoOther(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload) select q, '{}' from generate_series(1, 25), unnest('{a,b}'::text[]) q`)
	config := r.config(nil)
	config.Concurrency = 1
	note := config.Queues[0].Handler
	config.Queues = []drain.Queue{
		{Name: "a", Handler: func(ctx context.Context, job drain.Job) error {
			note(ctx, job)
			return drain.Suspend(errors.New("the mail server is down"))
		}},
		{Name: "b", Handler: note},
	}
	report := r.run(config)
	r.want(`select queue, status, attempts, count(*), count(*) filter (where run_at > now()) as later from ebb.jobs group by 1, 2, 3 order by 1`,
		"(a,queued,0,25,1)", "(b,done,1,25,0)")
	if report.Stopped != drain.StoppedEmpty || report.DueLeft != 24 || report.Done != 25 {
		t.Errorf("report %+v", report)
	}
}

// A machine short of something is no job's fault: what was there before is there after, but for why.
func TestNotStartedStopsTheQueueAndNoOther(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload, run_at, lost, attempts) select q, '{}', '2020-01-01', 1, 2 from generate_series(1, 25), unnest('{a,b}'::text[]) q`)
	config, log := logged(r.config(nil))
	note := config.Queues[0].Handler
	config.Queues = []drain.Queue{
		{Name: "a", Concurrency: 3, Handler: func(ctx context.Context, job drain.Job) error {
			note(ctx, job)
			return drain.NotStarted(errors.New("too many open files: raise ulimit -n"))
		}},
		{Name: "b", Handler: note},
	}
	report := r.run(config)
	r.want(`select queue, status, attempts, lost, run_at = '2020-01-01' as same, count(*) from ebb.jobs group by 1, 2, 3, 4, 5 order by 1`,
		"(a,queued,2,1,t,25)", "(b,done,3,1,t,25)")
	r.want(`select count(*) from ebb.jobs where last_error like 'attempt 3 of 5, % too many open files: raise ulimit -n' having count(*) not between 1 and 3`)
	if report.Stopped != drain.StoppedEmpty || report.Done != 25 || report.Released+report.Done != report.Claimed || len(report.Suspended) > 0 {
		t.Errorf("report %+v", report)
	}
	if strings.Join(report.Misconfigured, " ") != "a" || strings.Count(log.String(), "could not be started") != 1 {
		t.Errorf("misconfigured %v, log %s", report.Misconfigured, log)
	}
}

// Two different jobs in a row have to say that the handler is misconfigured; one of them may be wrong about it.
func TestMisconfiguredQueueStops(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	config := r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 2 {
			return nil
		}
		return drain.Misconfigured(errors.New("no such program"))
	})
	config.Concurrency = 1
	report := r.run(config)
	if len(r.ids()) != 4 || report.Done != 1 { // wrong, fine, wrong, wrong: stop
		t.Errorf("%d jobs started; %+v", len(r.ids()), report)
	}
	r.exec(`update ebb.jobs set run_at = now(), lost = 3 where status = 'queued'`)
	r.exec(`delete from ebb.jobs where id > 3`)
	report = r.run(r.config(func(context.Context, drain.Job) error { return drain.Misconfigured(errors.New("no such program")) }))
	r.want(`select id, status, attempts, lost from ebb.jobs where status = 'queued' order by id`, "(1,queued,1,4)", "(3,queued,1,4)")
}

// One job that says so again and again is one job.
func TestOneJobStopsNoQueue(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, lost, max_attempts) values ('{}', 3, 3)`)
	config := r.config(func(context.Context, drain.Job) error { return drain.Misconfigured(errors.New("no such program")) })
	config.Linger, config.Backoff = 20*time.Second, time.Millisecond
	if report := r.run(config); len(r.ids()) != 3 || report.Failed != 1 {
		t.Errorf("started %d times, %+v", len(r.ids()), report)
	}
}

// An error of any size and content is stored, bounded and readable, in the same run.
func TestErrorsAreMadeStorable(t *testing.T) {
	r := newRig(t)
	texts := []string{
		"a\x00b\xc3", "bad \xff\xfe bytes", "D\xfcsseldorf", strings.Repeat("\x00\xff", 100_000),
		strings.Repeat("é", 4096) + "end", strings.Repeat("x", 300<<20) + "end",
	}
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 6)`)
	report := r.run(r.config(func(_ context.Context, job drain.Job) error { return errors.New(texts[job.ID-1]) }))
	if report.Retried != 6 {
		t.Errorf("report %+v", report)
	}
	r.want(`select id from ebb.jobs where status <> 'queued' or run_at < now() or octet_length(last_error) > 8192`)
	r.want(`select right(last_error, 3) from ebb.jobs where id >= 5`, "(end)", "(end)")
	r.want(`select last_error ~ 'D.sseldorf$' from ebb.jobs where id = 3`, "(t)")
	var text string
	if err := r.db.QueryRow(t.Context(), `select last_error from ebb.jobs where id = 6`).Scan(&text); err != nil || !utf8.ValidString(text) {
		t.Errorf("%v, %q", err, text)
	}
	if !strings.Contains(text, "bytes cut]") {
		t.Errorf("the cut is not marked: %q", text[:200])
	}
}

func TestPayloadsComeByteForByte(t *testing.T) {
	r := newRig(t)
	for _, p := range []string{`{"id":9007199254740993}`, `{"id":1234567890123456789}`, `{"n":-9223372036854775808}`,
		`{"n":18446744073709551616}`, `{"p":1.10}`, `{"e":1e400}`, `{"s":"<a>&\u2028"}`} {
		r.exec(`insert into ebb.jobs (payload) values ($1)`, p)
	}
	r.run(r.config(func(_ context.Context, job drain.Job) error {
		db, err := pgx.Connect(context.Background(), schematest.Direct(r.url))
		if err != nil {
			return err
		}
		defer db.Close(context.Background())
		var want string
		if err := db.QueryRow(context.Background(), `select payload::text from ebb.jobs where id = $1`, job.ID).Scan(&want); err != nil {
			return err
		}
		if string(job.Payload) != want {
			t.Errorf("job %d came as %s, want %s", job.ID, job.Payload, want)
		}
		return nil
	}))
	r.want(`select count(*) from ebb.jobs where status = 'done'`, "(7)")
}

func TestJobTimeout(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}'), ('{}')`)
	config := r.config(func(ctx context.Context, job drain.Job) error {
		if job.ID == 2 {
			return nil
		}
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the handler's context has no deadline")
		}
		<-ctx.Done()
		return fmt.Errorf("gave up: %w", ctx.Err())
	})
	config.Queues[0].Timeout = 100 * time.Millisecond
	report := r.run(config)
	r.want(`select status, attempts, lost, last_error ~ ': timed out after 100ms: gave up: context deadline exceeded$' as told
		from ebb.jobs where id = 1`, "(queued,1,0,t)")
	if report.Retried != 1 || report.Done != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestCompleteTx(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(ctx context.Context, tx pgx.Tx) error
		want string
	}{
		{"committed", func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }, "(done,1)"},
		{"committed, then an error", func(ctx context.Context, tx pgx.Tx) error { tx.Commit(ctx); return errors.New("too late") }, "(done,1)"},
		{"rolled back", func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }, "(queued,1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) values ('{}')`)
			report := r.run(r.config(func(ctx context.Context, job drain.Job) error {
				db, err := pgx.Connect(ctx, r.url)
				if err != nil {
					return err
				}
				defer db.Close(ctx)
				tx, err := db.Begin(ctx)
				if err != nil {
					return err
				}
				if err := job.CompleteTx(ctx, tx); err != nil {
					return err
				}
				return c.end(ctx, tx)
			}))
			r.want(`select status, attempts from ebb.jobs`, c.want)
			if (report.Done == 1) != strings.HasPrefix(c.want, "(done") || report.Lost != 0 {
				t.Errorf("report %+v", report)
			}
			if c.name == "rolled back" {
				r.want(`select last_error ~ 'completion was not committed$' from ebb.jobs`, "(t)")
			}
		})
	}
	t.Run("lost", func(t *testing.T) {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) values ('{}')`)
		report := r.run(r.config(func(ctx context.Context, job drain.Job) error {
			db, err := pgx.Connect(ctx, r.url)
			if err != nil {
				return err
			}
			defer db.Close(ctx)
			if _, err := db.Exec(ctx, `update ebb.jobs set attempts = attempts + 1`); err != nil {
				return err
			}
			tx, err := db.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			err = job.CompleteTx(ctx, tx)
			if !errors.Is(err, drain.ErrLeaseLost) {
				t.Errorf("CompleteTx says %v", err)
			}
			return err
		}))
		r.want(`select status, attempts from ebb.jobs`, "(running,2)")
		if report.Lost != 1 {
			t.Errorf("report %+v", report)
		}
	})
}
