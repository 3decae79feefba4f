package drain

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// What holds the model to the truth: the same schedules against a Postgres, and both tables end alike, and both runs
// report the same. Its clock goes on as it likes, so before each exchange the rows are made older by the virtual time that
// passed. What happens within a hair of a lease's end may differ for that; then it is done again.
func TestSimulatedTableIsTrue(t *testing.T) {
	p := newSimPostgres(t)
	first, n := firstSeed(t), uint64(200)
	if seed, ok := simulateSeed(t); ok {
		first, n = seed, 1
	}
	for seed := first; seed < first+n; seed++ {
		var diff string
		for range 3 {
			if diff = p.compare(t, seed, n == 1); diff == "" {
				break
			}
		}
		if diff != "" {
			t.Fatalf("SIMULATE_SEED=%d go test ./drain -run TestSimulatedTableIsTrue\n%s", seed, diff)
		}
	}
}

// compare goes through a schedule twice, and says where the ends differ.
func (p *simPostgres) compare(t *testing.T, seed uint64, verbose bool) string {
	model := simulate(t, newSchedule(seed).forPostgres(), nil, false)
	truth := simulate(t, newSchedule(seed).forPostgres(), p.begin, verbose)
	if verbose {
		t.Log("\n" + strings.Join(truth.lines, "\n"))
	}
	want, got := slices.Concat(model.end, model.wrong), slices.Concat(truth.end, truth.wrong)
	if slices.Equal(want, got) {
		return ""
	}
	differ := func(of, from []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(of), func(line string) bool { return slices.Contains(from, line) }), "\n")
	}
	return "the model has\n" + differ(want, got) + "\nPostgres has\n" + differ(got, want)
}

// forPostgres leaves out what only the model has: locks of rows, and payloads that take their time.
func (p *schedule) forPostgres() *schedule {
	p.hands = slices.DeleteFunc(p.hands, func(h simHand) bool { return h.what == "lock" })
	p.ways = slices.DeleteFunc(p.ways, func(w simWay) bool { return w >= completes })
	for i := range p.rows {
		p.rows[i].size = 0
	}
	for i := range p.runs {
		p.runs[i].config.Linger = 0
	}
	return p
}

// A simPostgres makes the exchanges of a simulation on a server. All of that happens outside of the bubble.
type simPostgres struct {
	sim      *simulation
	work     chan func()
	done     chan struct{}
	hands    *pgx.Conn
	conns    []*pgx.Conn
	sessions []*session
	behind   time.Duration // the server's clock, to the virtual one
}

func newSimPostgres(t *testing.T) *simPostgres {
	url := schematest.New(t)
	p := &simPostgres{work: make(chan func()), done: make(chan struct{}), hands: schematest.Connect(t, url)}
	for range 2 {
		config, err := pgx.ParseConfig(schematest.Direct(url))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := connectOnce(context.Background(), config, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		p.conns = append(p.conns, conn)
	}
	p.exec(`create function refuse() returns trigger language plpgsql as $$
		declare what text := case when old.status = 'queued' then 'claim' when new.status = 'running' then 'extend' else 'settle' end;
		begin
			if old.payload->>'refuses' = what then raise exception 'refused'; end if;
			if old.payload->>'suppresses' = what then return null; end if;
			return new;
		end$$;
		create trigger refuse before update on ebb.jobs for each row execute function refuse();
		set session_replication_role = replica`)
	go func() {
		for f := range p.work {
			f()
			p.done <- struct{}{}
		}
	}()
	t.Cleanup(func() { close(p.work) })
	return p
}

// outside does something outside of the bubble, whose clock stands still meanwhile.
func (p *simPostgres) outside(f func()) {
	p.work <- f
	<-p.done
}

func (p *simPostgres) exec(sql string, args ...any) {
	if _, err := p.hands.Exec(context.Background(), sql, args...); err != nil {
		panic(fmt.Sprintf("%s: %v", sql, err))
	}
}

// begin fills the table for a simulation.
func (p *simPostgres) begin(sim *simulation) simServer {
	p.sim, p.sessions = sim, nil
	sim.foreign = true
	virtual := time.Now()
	p.outside(func() {
		p.exec(`truncate ebb.jobs, ebb.jobs_runs`)
		p.behind = time.Until(virtual)
		for _, r := range sim.rows {
			var until *time.Time
			if !r.lockedUntil.IsZero() {
				real := r.lockedUntil.Add(-p.behind)
				until = &real
			}
			p.exec(`insert into ebb.jobs (id, queue, payload, status, run_at, attempts, max_attempts, lost, locked_until, locked_by)
				values ($1, $2, jsonb_build_object('refuses', $3::text, 'suppresses', $4::text), $5, $6, $7, $8, $9, $10, $11)`,
				r.id, r.queue, r.refuses, r.suppresses, r.status, r.runAt.Add(-p.behind), r.attempts, r.max, r.lost, until, r.lockedBy)
		}
	})
	for i, plan := range sim.schedule.runs {
		c := plan.config.WithDefaults()
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
		p.sessions = append(p.sessions, &session{config: c, conn: p.conns[i]})
	}
	return p
}

func (p *simPostgres) execute(run int, req request, isNew bool) (resp response, err error) {
	virtual := time.Now()
	p.outside(func() {
		p.age(virtual)
		p.sessions[run].checked = !isNew
		resp, err = p.sessions[run].do(context.Background(), req)
		if !resp.now.IsZero() {
			resp.now = resp.now.Add(p.behind)
		}
		for i := range resp.claimed {
			job := &resp.claimed[i].job
			job.RunAt = job.RunAt.Add(p.behind)
		}
	})
	return resp, err
}

// age moves all times in the table, so that they are as far from the server's time as they are from the virtual one.
func (p *simPostgres) age(virtual time.Time) {
	behind := time.Until(virtual)
	shift := (p.behind - behind).Microseconds()
	p.exec(`update ebb.jobs set run_at = run_at + $1::bigint * interval '1 microsecond', locked_until = locked_until + $1 * interval '1 microsecond'
		where status in ('queued', 'running')`, shift)
	p.behind = behind
}

func (p *simPostgres) hand(what string, id int64) {
	virtual := time.Now()
	p.outside(func() {
		p.age(virtual)
		switch what {
		case "cancel":
			p.exec(`update ebb.jobs set status = 'failed', locked_until = null, last_error = 'cancelled' where id = $1 and status in ('queued', 'running')`, id)
		case "retry":
			p.exec(`update ebb.jobs set status = 'queued', attempts = 0, lost = 0, run_at = now() where id = $1 and status = 'failed'`, id)
		}
	})
}

func (p *simPostgres) print() (lines []string) {
	p.outside(func() {
		rows, err := p.hands.Query(context.Background(), `select format('%s %s %s attempts %s of %s, lost %s, %s', id, queue, status, attempts, max_attempts, lost, locked_by)
			from ebb.jobs order by id`)
		if err == nil {
			lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil {
			panic(err)
		}
	})
	return lines
}
