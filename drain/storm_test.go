//go:build unix

package drain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/cli"
)

// TestMain makes this test binary be a program with a handler where a test says so. The handler appends a line for each
// job that it starts to the file that BE_EBB names, and then does what the payload says.
func TestMain(m *testing.M) {
	be := os.Getenv("BE_EBB")
	if be == "" {
		os.Exit(m.Run())
	}
	os.Unsetenv("BE_EBB")
	effects, err := os.OpenFile(be, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	handler := func(ctx context.Context, job drain.Job) error {
		if _, err := fmt.Fprintf(effects, "%d %d %s\n", job.ID, job.Attempt, job.Run); err != nil {
			return err
		}
		what := string(job.Payload)
		switch {
		case strings.Contains(what, "kill"):
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case strings.Contains(what, "fail"):
			return errors.New("as the payload says")
		case strings.Contains(what, "slow"):
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}
	os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr, drain.Queue{Name: "default", Handler: handler}))
}

// program starts the program of TestMain.
func (r *rig) program(effects, url string, settings ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "run")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EBB_") && !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "DATABASE_URL") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "BE_EBB="+effects, "DATABASE_URL="+url), settings...)
	log, err := os.Create(filepath.Join(r.TempDir(), "log"))
	if err != nil {
		r.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		r.Error(err)
	}
	return cmd
}

// effects are the jobs started, a line each: id, attempt, run.
func (r *rig) effects(path string) (lines []string) {
	f, err := os.Open(path)
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// Case 10: a job that kills its worker ends failed after its own attempts, and takes none of its neighbours with it.
func TestJobThatKillsItsWorker(t *testing.T) {
	for _, concurrency := range []string{"1", "10"} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload, max_attempts, run_at)
			select case when n = 1 then '{"do": "kill"}' else '{}' end::jsonb, 3, now() - interval '1 min' + n * interval '1 s' from generate_series(1, 10) n`)
		path := filepath.Join(t.TempDir(), "effects")
		for range 6 {
			r.program(path, r.url, "EBB_CONCURRENCY="+concurrency, "EBB_LEASE=2s").Wait()
			r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where status = 'running'`) // the lease runs out
		}
		r.run(drain.Config{Database: database(r.url), Queues: []drain.Queue{{Name: "none", Handler: func(context.Context, drain.Job) error { return nil }}}})
		r.want(`select status, attempts, last_error ~ 'the worker was lost$' as told from ebb.jobs where id = 1`, "(failed,3,t)")
		r.want(`select count(*) from ebb.jobs where id > 1 and status <> 'done'`, "(0)")
		starts := map[string]int{}
		for _, line := range r.effects(path) {
			id, _, _ := strings.Cut(line, " ")
			starts[id]++
		}
		if starts["1"] != 3 {
			t.Errorf("concurrency %s: the job was started %d times", concurrency, starts["1"])
		}
	}
}

// transitions notes every end of an attempt, with who wrote it; improper are those that no rule of the contract allows.
const (
	transitions = `
		create table transitions (id bigint, was jobs, is_now jobs, writer text, at timestamptz default now());
		create table claims (run text primary key, writer text);
		create function note() returns trigger language plpgsql as $$begin
			if new.status = 'running' then
				insert into claims values (new.locked_by, current_setting('application_name')) on conflict do nothing;
			elsif old.status = 'running' then
				insert into transitions values (new.id, old, new, current_setting('application_name'));
			end if;
			return null; end$$;
		create trigger note after update on ebb.jobs for each row when (old.status <> new.status) execute function note()`
	improper = `
		select id, (was).status as was, (is_now).status, (was).attempts, (is_now).attempts as attempts_now, (was).lost, (is_now).lost as lost_now,
			(is_now).last_error, t.writer, c.writer as owner
		from transitions t left join claims c on c.run = (t.was).locked_by
		where not case
			when (is_now).last_error is distinct from (was).last_error and (is_now).last_error ~ 'the worker was lost$' then -- reaped, by anybody
				(was).locked_until <= at and (is_now).lost = (was).lost + 1 and (is_now).attempts = (was).attempts and (is_now).run_at = (was).run_at
				and (is_now).status = case when (was).attempts >= (was).max_attempts then 'failed' else 'queued' end
			when t.writer is distinct from c.writer then false -- settled by one who does not own the attempt
			when (is_now).status = 'done' then (is_now).attempts = (was).attempts and (is_now).lost = (was).lost
			when (is_now).last_error is not distinct from (was).last_error then -- released
				(is_now).status = 'queued' and (is_now).attempts = (was).attempts - 1 and (is_now).lost = (was).lost and (is_now).run_at = (was).run_at
			when (is_now).last_error ~ 'interrupted' then
				(is_now).lost = (was).lost + 1 and (is_now).run_at > (was).run_at
				and (is_now).attempts = (was).attempts - case when (was).lost < 3 then 1 else 0 end
			else (is_now).last_error ~ 'as the payload says|timed out' and (is_now).attempts = (was).attempts and (is_now).lost = (was).lost
				and (is_now).status = case when (was).attempts >= (was).max_attempts then 'failed' else 'queued' end
			end`
)

// slow passes bytes on, and now and then only the first part of a chunk at once and the rest much later: an exchange
// that is under way for longer than its leases.
func slow(to, from net.Conn, roll func(int) int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 1 && roll(8) == 0 {
			part := 1 + roll(n-1)
			to.Write(buf[:part])
			time.Sleep(time.Duration(300+roll(2500)) * time.Millisecond) // the delay is the input
			_, err2 := to.Write(buf[part:n])
			err = errors.Join(err, err2)
		} else if n > 0 {
			_, err2 := to.Write(buf[:n])
			err = errors.Join(err, err2)
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// The storm: several drainers on leases of a second, killed, frozen, stopped, their sessions ended, their connections
// cut and their exchanges held up at random. Whatever happens, in the end every job is done, or failed with a reason; no
// attempt was started twice by the run that owned it; and every end of an attempt is one that the contract allows,
// written by the owner or by a reaper after the lease. It lasts ten seconds, or what STORM says; the seed is printed,
// and STORM_SEED sets it.
func TestStorm(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("STORM"))
	if err != nil {
		lasts = 10 * time.Second
	}
	seed := uint64(time.Now().UnixNano())
	fmt.Sscan(os.Getenv("STORM_SEED"), &seed)
	t.Logf("a storm of %v, STORM_SEED=%d", lasts, seed)
	dice := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}

	r := newRig(t)
	r.exec(strings.ReplaceAll(transitions, " jobs,", " ebb.jobs,"))
	enqueue := func(n int) {
		r.exec(`insert into ebb.jobs (payload, max_attempts) select jsonb_build_object('do', (array['', '', '', 'slow', 'slow', 'fail'])[1 + floor(random() * 6)]), 6
			from generate_series(1, $1)`, n)
	}
	enqueue(200)
	path := filepath.Join(t.TempDir(), "effects")
	_, through := r.door(func(n int, client net.Conn) bool {
		switch n % 3 {
		case 0: // cut after a while
			time.AfterFunc(time.Duration(roll(400))*time.Millisecond, func() { client.Close() })
		case 1:
			server, err := net.Dial("tcp", r.server())
			if err != nil {
				return false
			}
			go func() { io.Copy(client, server); client.Close() }()
			slow(server, client, roll)
			return false
		}
		return true
	})
	var started atomic.Int64
	url := func() string { return fmt.Sprintf("%s&application_name=drainer%d", through, started.Add(1)) }
	settings := []string{"EBB_LEASE=1s", "EBB_GRACE=1s", "EBB_JOB_TIMEOUT=2s", "EBB_BACKOFF=1s", "EBB_MAX_BACKOFF=1s", "EBB_CONCURRENCY=4", "EBB_MAX_RUNTIME=20s", "EBB_CONNECT_TIMEOUT=5s"}
	end := time.Now().Add(lasts)
	var drainers sync.WaitGroup
	for range 4 {
		drainers.Go(func() {
			for time.Now().Before(end) {
				cmd := r.program(path, url(), settings...)
				ended := make(chan struct{})
				go func() { cmd.Wait(); close(ended) }()
				select {
				case <-ended:
					continue
				case <-time.After(time.Duration(200+roll(1500)) * time.Millisecond): // the time of the blow is the input
				}
				switch roll(4) {
				case 0:
					cmd.Process.Kill()
				case 1:
					cmd.Process.Signal(syscall.SIGTERM)
				case 2:
					cmd.Process.Signal(syscall.SIGSTOP)
					time.Sleep(time.Duration(500+roll(2000)) * time.Millisecond) // past the lease, at times
					cmd.Process.Signal(syscall.SIGCONT)
				}
				select {
				case <-ended:
				case <-time.After(time.Minute):
					cmd.Process.Signal(syscall.SIGQUIT)
					<-ended
					log, _ := os.ReadFile(cmd.Stderr.(*os.File).Name())
					t.Errorf("a drainer does not end:\n%s", log)
				}
			}
		})
	}
	for time.Now().Before(end) {
		time.Sleep(time.Duration(100+roll(500)) * time.Millisecond)
		enqueue(10)
		if roll(3) == 0 {
			r.exec(`select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^drainer' and datname = current_database()`)
		}
	}
	drainers.Wait()

	// Calm again: wakes until nothing is left.
	for deadline := time.Now().Add(time.Minute); ; {
		if len(r.rows(`select from ebb.jobs where status in ('queued', 'running') limit 1`)) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left over: %q", r.rows(`select id, status, attempts, lost, locked_until, last_error from ebb.jobs where status in ('queued', 'running') limit 5`))
		}
		r.program(path, r.url, append(settings, "EBB_LINGER=2s")...).Wait()
	}
	r.want(`select id from ebb.jobs where status = 'failed' and (last_error is null or last_error !~ 'as the payload says|the worker was lost')`)
	r.want(`select id from ebb.jobs where attempts > max_attempts or attempts < 1`)
	r.want(`select id from transitions where (is_now).status in ('done', 'failed') group by id having count(*) > 1`)
	r.want(improper)
	// Every job that is done was started by the attempt that it is done by, and no attempt was started twice by its owner.
	seen := map[string]bool{}
	for _, line := range r.effects(path) {
		if seen[line] {
			t.Errorf("started twice: %s", line)
		}
		seen[line] = true
	}
	for _, row := range r.rows(`select id || ' ' || attempts || ' ' || locked_by as effect from ebb.jobs where status = 'done'`) {
		if effect := strings.Trim(row, `()"`); !seen[effect] {
			t.Errorf("done, but never started: %s", effect)
		}
	}
	t.Logf("%s jobs, %d started, transitions %q", r.rows(`select count(*) from ebb.jobs`), len(seen),
		r.rows(`select (is_now).status, count(*) from transitions group by 1 order by 1`))
}
