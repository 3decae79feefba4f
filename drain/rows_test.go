package drain_test

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// One row that Postgres refuses to change harms only itself, whatever refuses it and at which step.
func TestRowsThatCannotBeChanged(t *testing.T) {
	refuse := func(when string) string {
		return `create function refuse() returns trigger language plpgsql as
			$$begin if ` + when + ` then raise exception 'not this one'; end if; return new; end$$;
			create trigger refuse before update on ebb.jobs for each row execute function refuse()`
	}
	for _, c := range []struct {
		name, setup string
		row         string // of job 3: status, attempts
		lost        int
	}{
		{"claim", refuse(`new.id = 3 and new.status = 'running'`), "(queued,0)", 0},
		{"settle", refuse(`new.id = 3 and new.status = 'done'`), "(running,1)", 1},
		{"reap", `update ebb.jobs set status = 'running', attempts = 1, locked_until = now() where id = 3;` +
			refuse(`new.id = 3 and new.status = 'queued'`), "(running,1)", 0},
		{"settle, for a table that is not there", `create function refuse() returns trigger language plpgsql as
			$$begin if new.id = 3 and new.status = 'done' then insert into audit values (1); end if; return new; end$$;
			create trigger refuse before update on ebb.jobs for each row execute function refuse()`, "(running,1)", 1},
		{"a check", `alter table ebb.jobs add check (id <> 3 or status <> 'running')`, "(queued,0)", 0},
		{"a deferred constraint", `create function refuse() returns trigger language plpgsql as
			$$begin if new.id = 3 and new.status = 'done' then raise exception 'not this one'; end if; return new; end$$;
			create constraint trigger refuse after update on ebb.jobs deferrable initially deferred for each row execute function refuse()`,
			"(running,1)", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
			r.exec(c.setup)
			report := r.run(r.config(nil))
			if report.Done != 24 || report.Lost != c.lost || report.Stopped != drain.StoppedEmpty {
				t.Errorf("report %+v", report)
			}
			r.want(`select status, attempts from ebb.jobs where id = 3`, c.row)
			r.want(`select count(*) from ebb.jobs where id <> 3 and status <> 'done'`, "(0)")
		})
	}
}

// However many expired rows cannot be given back, those after them are, in the same wake.
func TestManyRowsThatCannotBeReaped(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, status, attempts, locked_until) select '{}', 'running', 1, now() from generate_series(1, 40)`)
	r.exec(`create function refuse() returns trigger language plpgsql as
		$$begin if new.id <= 15 and new.status = 'queued' then raise exception 'not this one'; end if; return new; end$$;
		create trigger refuse before update on ebb.jobs for each row execute function refuse()`)
	if report := r.run(r.config(nil)); report.Done != 25 || report.Reaped != 25 {
		t.Errorf("report %+v", report)
	}
}

// A lease that a trigger lets nobody extend ends with its job, not with the run, and the others are extended.
func TestLeaseThatCannotBeExtended(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	r.exec(`create function refuse() returns trigger language plpgsql as
		$$begin if new.id = 1 and old.status = 'running' and new.status = 'running' then raise exception 'not this one'; end if; return new; end$$;
		create trigger refuse before update on ebb.jobs for each row execute function refuse()`)
	config := r.config(func(ctx context.Context, job drain.Job) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2500 * time.Millisecond): // longer than two leases
			return nil
		}
	})
	config.Lease = time.Second
	if report := r.run(config); report.Done != 2 || report.Lost != 1 || report.Stopped != drain.StoppedEmpty {
		t.Errorf("report %+v", report)
	}
}

// A row whose text Postgres cannot print is left where it is; the others are done.
func TestPayloadThatCannotBePrinted(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, run_at) select to_jsonb(repeat(chr(1), 200000000)), now() - interval '1 h'`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 9)`)
	if report := r.run(r.config(nil)); report.Done != 9 || report.DueLeft != 1 {
		t.Errorf("report %+v", report)
	}
	r.want(`select status, attempts from ebb.jobs where id = 1`, "(queued,0)")
}

// A lock on the whole table is a failed run, and never an empty queue.
func TestLockedTable(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	execOn(t, schematest.Connect(t, r.url), `begin`, `lock table ebb.jobs in share row exclusive mode`)
	config := r.config(nil)
	config.ConnectTimeout = time.Second
	report, err := r.try(context.Background(), config)
	if err == nil || report.Stopped != drain.StoppedError || !strings.Contains(report.Error, "lock") {
		t.Errorf("%v, %+v", err, report)
	}
}

// Giving an expired row back breaks a unique index of the user's.
func TestReapThatBreaksAUniqueIndex(t *testing.T) {
	r := newRig(t)
	r.exec(`create unique index on ebb.jobs ((payload->>'key')) where status = 'queued'`)
	r.exec(`insert into ebb.jobs (payload, status, attempts, locked_until) values
		('{"key": "k"}', 'running', 1, now() - interval '1 s'), ('{"key": "k"}', 'queued', 0, null),
		('{"key": "z"}', 'running', 1, now() - interval '1 s'), ('{}', 'queued', 0, null)`)
	report := r.run(r.config(nil))
	r.want(`select id, status from ebb.jobs where id > 1 order by id`, "(2,done)", "(3,done)", "(4,done)")
	if report.Done != 3 || report.Stopped != drain.StoppedEmpty {
		t.Errorf("report %+v", report)
	}
	r.run(r.config(nil)) // by now its key is free
	r.want(`select count(*) from ebb.jobs where status <> 'done'`, "(0)")
}

// A row that somebody has locked when it is to be settled is settled once it is free, and keeps nobody else.
func TestLockedRowIsSettledLater(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	a := schematest.Connect(t, r.url)
	var end func(...string)
	var once sync.Once
	config := r.config(func(_ context.Context, job drain.Job) error {
		if job.ID == 1 {
			once.Do(func() { end = execOn(t, a, `begin`, `select from ebb.jobs where id = 1 for update`) })
		}
		return nil
	})
	done := r.background(context.Background(), config)
	r.wait(r.db, `select count(*) = 24 from ebb.jobs where status = 'done'`)
	r.want(`select status from ebb.jobs where id = 1`, "(running)")
	end(`rollback`)
	if report := done(); report.Done != 25 || report.Lost != 0 {
		t.Errorf("report %+v", report)
	}
}

// A claim that commits only after the run looked for it: the door holds its bytes back, lets the client believe that the
// connection is lost, and passes them on when the run works on over another one. It never started, so it is given back.
func TestClaimThatCommitsLate(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 4)`)
	late, seen := make(chan struct{}), make(chan struct{})
	committed := make(chan struct{})
	_, url := r.door(func(n int, client net.Conn) bool {
		if n > 1 {
			return true
		}
		defer close(committed)
		server, err := net.Dial("tcp", r.server())
		if err != nil {
			t.Error(err)
			return false
		}
		defer server.Close()
		answers := make(chan struct{})
		go func() { defer close(answers); io.Copy(client, server) }()
		var held []byte
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if err != nil {
				return false
			}
			if held = append(held, buf[:n]...); !strings.Contains(string(held), "for no key update skip locked") {
				server.Write(buf[:n])
				held = nil
				continue
			}
			for held[len(held)-5] != 'S' { // until the whole exchange is here
				if n, err = client.Read(buf); err != nil {
					return false
				}
				held = append(held, buf[:n]...)
			}
			client.Close()
			<-late
			server.Write(held)
			<-seen
			server.Close()
			<-answers
			return false
		}
	})
	var once sync.Once
	config := r.config(func(context.Context, drain.Job) error {
		once.Do(func() {
			// The second connection has claimed jobs 1 and 2; now the first claim is done, and takes 3 and 4.
			close(late)
			r.wait(schematest.Connect(t, r.url), `select count(*) = 4 from ebb.jobs where status = 'running' or status = 'done'`)
			close(seen)
		})
		return nil
	})
	config.Database, config.Batch, config.Concurrency = database(url), 2, 2
	report := r.run(config)
	<-committed
	if report.Done != 2 || report.Claimed != 2 || report.Stopped != drain.StoppedEmpty {
		t.Errorf("report %+v", report)
	}
	r.want(`select status, attempts, lost, count(*) from ebb.jobs group by 1, 2, 3 order by 1`, "(done,1,0,2)", "(queued,0,0,2)")
}

// Poison: jobs that take their process with them, while others keep coming in: both make progress, and each spends
// nothing but its own attempts.
func TestPoisonAmongSteadyInflow(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload, lost, attempts, run_at) select '{"poison": true}', 2, 2, now() - interval '1 h' from generate_series(1, 3)`)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	inflow := schematest.Connect(t, r.url)
	var mu sync.Mutex
	config := r.config(func(_ context.Context, job drain.Job) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := inflow.Exec(context.Background(), `insert into ebb.jobs (payload) values ('{}')`)
		return err
	})
	config.MaxRuntime, config.Grace, config.JobTimeout = 4*time.Second, 500*time.Millisecond, time.Second
	report := r.run(config)
	r.want(`select count(*) from ebb.jobs where lost > 0 and status <> 'done'`, "(0)")
	ids := r.ids()
	if first := slices.Index(ids, 1); first < 30 || first > len(ids)/2 || report.Stopped != drain.StoppedTime {
		t.Errorf("the first poison job came as number %d of %d; %+v", first, len(ids), report)
	}
}
