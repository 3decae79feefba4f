//go:build unix

// The program run as a program, against a real Postgres: started, killed, started again, and judged by what is in the
// table and by the last line that it printed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/cli"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// TestMain makes this test binary be ebb where a test says so, and a program with a Go handler where it says that: the
// handler appends a line for each job to the file that BE_EBB names.
func TestMain(m *testing.M) {
	be, ok := os.LookupEnv("BE_EBB")
	if !ok {
		os.Exit(m.Run())
	}
	os.Unsetenv("BE_EBB")
	var handlers []drain.Queue
	if be != "" {
		effects, err := os.OpenFile(be, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		handlers = append(handlers, drain.Queue{Name: "default", Handler: func(_ context.Context, job drain.Job) error {
			_, err := fmt.Fprintf(effects, "%d %d %s\n", job.ID, job.Attempt, job.Run)
			return err
		}})
	}
	os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr, handlers...))
}

// A rig is a migrated database and a session to look into it with.
type rig struct {
	*testing.T
	url string
	db  *pgx.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	u := schematest.New(t)
	return &rig{t, u, schematest.Connect(t, u)}
}

// through is the URL that the program gets: through the pooler that TEST_POOLER (host:port) names, where there is one.
func through(t *testing.T, text string) string {
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if pooler := os.Getenv("TEST_POOLER"); pooler != "" {
		u.Host = pooler
	}
	return u.String()
}

// An ebb is the program as a process.
type ebb struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr bytes.Buffer
}

// start starts ebb with arguments and settings (NAME=value), and no other setting of ebb or Postgres in its environment.
func (r *rig) start(settings []string, args ...string) *ebb {
	r.Helper()
	e := &ebb{Cmd: exec.Command(os.Args[0], args...), t: r.T}
	e.Env = append(bare(), "BE_EBB=", "DATABASE_URL="+through(r.T, r.url))
	e.Env = append(e.Env, settings...)
	e.Stdout, e.Stderr = &e.stdout, &e.stderr
	e.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.Start(); err != nil {
		r.Fatal(err)
	}
	return e
}

func bare() (environ []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EBB_") && !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "DATABASE_URL") {
			environ = append(environ, v)
		}
	}
	return environ
}

// wait waits for the end and wants this exit status. Killed by a signal is 128 + n, as a shell says it.
func (e *ebb) wait(status int) drain.Report {
	e.t.Helper()
	timer := time.AfterFunc(2*time.Minute, func() { e.Process.Kill() })
	defer timer.Stop()
	e.Cmd.Wait()
	got := e.ProcessState.ExitCode()
	if ws := e.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		got = 128 + int(ws.Signal())
	}
	if got != status {
		e.t.Fatalf("%v: exit status %d, want %d\nstdout: %s\nstderr: %s", e.Args[1:], got, status, &e.stdout, &e.stderr)
	}
	var report drain.Report
	lines := strings.Split(strings.TrimSpace(e.stdout.String()), "\n")
	json.Unmarshal([]byte(lines[len(lines)-1]), &report) // the zero report where there is no summary
	return report
}

func (r *rig) run(settings []string, args ...string) drain.Report {
	r.Helper()
	return r.start(settings, append([]string{"run"}, args...)...).wait(0)
}

func (r *rig) exec(sql string, args ...any) {
	r.Helper()
	if _, err := r.db.Exec(context.Background(), sql, args...); err != nil {
		r.Fatalf("%s: %v", sql, err)
	}
}

func (r *rig) rows(sql string) []string {
	r.Helper()
	rows, _ := r.db.Query(context.Background(), "select row(q.*)::text from ("+sql+") q")
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.Fatalf("%s: %v", sql, err)
	}
	return texts
}

func (r *rig) want(sql string, want ...string) {
	r.Helper()
	if got := r.rows(sql); !slices.Equal(got, want) {
		r.Errorf("%s:\n got %q\nwant %q", sql, got, want)
	}
}

// until waits until a query that gives one boolean gives true.
func (r *rig) until(sql string) {
	r.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if slices.Equal(r.rows(sql), []string{"(t)"}) {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("waited in vain for %s", sql)
		}
	}
}

// counters are what the server itself counted for the database: transactions and sessions.
func (r *rig) counters() (transactions, sessions int64) {
	r.Helper()
	server := schematest.Connect(r.T, schematest.Server(r.T))
	defer server.Close(context.Background())
	config, err := pgx.ParseConfig(r.url)
	if err != nil {
		r.Fatal(err)
	}
	err = server.QueryRow(context.Background(), `select xact_commit + xact_rollback, sessions from pg_stat_database where datname = $1`,
		config.Database).Scan(&transactions, &sessions)
	if err != nil {
		r.Fatal(err)
	}
	return transactions, sessions
}

// counted does something that connects to the database, and gives the connections and exchanges that the server counted
// for it: a transaction each, beside those that a session costs by itself. What the autovacuum does meanwhile would be
// counted too, so the least of three is taken.
func (r *rig) counted(do func()) (exchanges, connections int64) {
	r.Helper()
	r.db.Close(context.Background())
	defer func() { r.db = schematest.Connect(r.T, r.url) }()
	exchanges = 1 << 62
	for range 3 {
		t0, s0 := r.counters()
		db, err := pgx.Connect(context.Background(), r.url)
		if err != nil {
			r.Fatal(err)
		}
		db.Close(context.Background())
		t1, s1 := r.counters()
		do()
		t2, s2 := r.counters()
		if s1-s0 != 1 {
			r.Fatalf("one connection was counted as %d", s1-s0)
		}
		connections = s2 - s1
		exchanges = min(exchanges, t2-t1-(t1-t0)*connections)
	}
	return exchanges, connections
}

func needDirect(t *testing.T) {
	if os.Getenv("TEST_POOLER") != "" {
		t.Skip("NOT TESTED THROUGH THE POOLER: the server's counters and sessions are the pooler's")
	}
}

// Through the pooler where there is one: eight migrate a fresh database at once.
func TestEightMigrateAtOnce(t *testing.T) {
	u := schematest.Empty(t)
	r := &rig{t, u, schematest.Connect(t, u)}
	var all []*ebb
	for range 8 {
		all = append(all, r.start(nil, "migrate"))
	}
	for _, e := range all {
		e.wait(0)
		if text := e.stderr.String(); strings.Contains(text, "SQLSTATE") {
			t.Error(text)
		}
	}
	r.want(`select version from ebb.jobs_version`, "(1)")
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	if report := r.run([]string{"EBB_QUEUE_DEFAULT_COMMAND=true"}); report.Done != 1 {
		t.Errorf("%+v", report)
	}
}

func TestEmptyWake(t *testing.T) {
	needDirect(t)
	r := newRig(t)
	exchanges, connections := r.counted(func() {
		report := r.run([]string{"EBB_QUEUE_DEFAULT_COMMAND=true"})
		if report.Stopped != drain.StoppedEmpty || report.Exchanges != 2 || len(report.Run) != 32 {
			t.Errorf("%+v", report)
		}
	})
	if exchanges > 2 || connections != 1 {
		t.Errorf("the server counted %d exchanges over %d connections", exchanges, connections)
	}
	r.until(`select count(*) = 0 from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
}

func TestFastJobsCostAnExchangeATen(t *testing.T) {
	needDirect(t)
	r := newRig(t)
	effects := filepath.Join(t.TempDir(), "effects")
	exchanges, connections := r.counted(func() {
		db := schematest.Connect(t, r.url)
		if _, err := db.Exec(t.Context(), `insert into ebb.jobs (payload) select '{}' from generate_series(1, 1000)`); err != nil {
			t.Fatal(err)
		}
		db.Close(t.Context())
		if report := r.run([]string{"BE_EBB=" + effects}); report.Done != 1000 {
			t.Errorf("%+v", report)
		}
	})
	// One more inserts the jobs, one finds nothing more, one records the run.
	if exchanges > 100+3 || connections != 2 {
		t.Errorf("the server counted %d exchanges over %d connections", exchanges, connections)
	}
}

func TestCommandDoesTheJobs(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (queue, payload) select 'mail', jsonb_build_object('n', n) from generate_series(1, 25) n`)
	r.exec(`insert into ebb.jobs (queue, payload) values ('other', '{}')`)
	out := filepath.Join(t.TempDir(), "out")
	report := r.run([]string{"OUT=" + out}, "--queue", "mail", "--", "sh", "-c", `read -r payload || :; echo "$payload" >>"$OUT"`)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if report.Done != 25 || report.Unhandled != 1 || report.Stopped != drain.StoppedEmpty || len(lines) != 25 || !slices.Contains(lines, `{"n": 25}`) {
		t.Errorf("%+v\n%q", report, lines)
	}
	r.want(`select queue, status, count(*) from ebb.jobs group by 1, 2 order by 1`, "(mail,done,25)", "(other,queued,1)")
	r.want(`select id, stopped, done, unhandled from ebb.jobs_runs`, "("+report.Run+",empty,25,1)")
}

// Ten thousand jobs, eight drainers at once: each job exactly once.
func TestEightDrainers(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 10000)`)
	effects := filepath.Join(t.TempDir(), "effects")
	var drainers []*ebb
	for range 8 {
		drainers = append(drainers, r.start([]string{"BE_EBB=" + effects}, "run"))
	}
	done := 0
	for _, d := range drainers {
		report := d.wait(0)
		done += report.Done
		if report.Lost+report.Retried+report.Released > 0 {
			t.Errorf("%+v", report)
		}
	}
	seen := linesOf(t, effects)
	if len(seen) != 10000 || done != 10000 {
		t.Errorf("%d effects, %d reported", len(seen), done)
	}
	for i := range seen {
		seen[i], _, _ = strings.Cut(seen[i], " ")
	}
	slices.Sort(seen)
	if n := len(slices.Compact(seen)); n != 10000 {
		t.Errorf("%d different jobs", n)
	}
	r.want(`select status, attempts, count(*) from ebb.jobs group by 1, 2`, "(done,1,10000)")
}

func linesOf(t *testing.T, path string) (lines []string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// kill -9 in the middle, then wake again: nothing is lost, and nothing that was settled runs again.
func TestKilledAndWokenAgain(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
	out := filepath.Join(t.TempDir(), "out")
	settings := []string{"OUT=" + out, "EBB_QUEUE_DEFAULT_COMMAND=sh -c 'echo $EBB_JOB_ID >>$OUT; test $EBB_JOB_ID -lt 12 || test -e $OUT.go || exec sleep 600'"}
	e := r.start(settings, "run")
	r.until(`select count(*) >= 11 from ebb.jobs where status = 'done'`)
	e.Process.Kill()
	e.wait(128 + 9)
	os.WriteFile(out+".go", nil, 0o600)

	if report := r.run(settings); report.Leased == 0 || report.Reaped != 0 {
		t.Errorf("while the leases hold: %+v", report)
	}
	leased := len(r.rows(`select from ebb.jobs where status = 'running'`))
	r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where status = 'running'`)
	report := r.run(settings)
	if report.Reaped != leased || report.DueLeft != 0 {
		t.Errorf("%d were leased: %+v", leased, report)
	}
	r.want(`select status, count(*) from ebb.jobs group by 1`, "(done,25)")
	r.want(`select count(*) from ebb.jobs where id < 12 and (attempts <> 1 or lost <> 0)`, "(0)")
	r.want(fmt.Sprintf(`select count(*) = %d from ebb.jobs where attempts = 2 and lost = 1`, leased), "(t)")
}

// A stop, for a process with commands.
func TestSIGTERM(t *testing.T) {
	for _, c := range []struct {
		name, command, grace string
		done                 int
		row                  string // of the job that worked: status, attempts, lost
	}{
		{"short", "sh -c 'touch $OUT; while test ! -e $OUT.go; do sleep 0.01; done'", "10s", 1, "(done,1,0)"},
		{"long", "sh -c 'touch $OUT; sleep 600'", "2s", 0, "(queued,0,1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, 25)`)
			out := filepath.Join(t.TempDir(), "out")
			e := r.start([]string{"OUT=" + out, "EBB_CONCURRENCY=1", "EBB_GRACE=" + c.grace, "EBB_QUEUE_DEFAULT_COMMAND=" + c.command}, "run")
			r.until(`select count(*) = 10 from ebb.jobs where status = 'running'`)
			untilFile(t, out)
			began := time.Now()
			e.Process.Signal(syscall.SIGTERM)
			if c.done == 1 {
				r.until(`select count(*) = 24 from ebb.jobs where status = 'queued' and run_at <= now()`)
				os.WriteFile(out+".go", nil, 0o600)
			}
			report := e.wait(0)
			if took := time.Since(began); took > 5*time.Second || report.Stopped != drain.StoppedSignal || report.Done != c.done || report.DueLeft != 24 {
				t.Errorf("after %v: %+v", took, report)
			}
			r.want(`select status, attempts, lost from ebb.jobs where started_at is not null and (last_error is not null or status = 'done')`, c.row)
			r.want(`select count(*) from ebb.jobs where status = 'running'`, "(0)")
		})
	}
}

func untilFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", path)
		}
	}
}

// A second signal ends everything at once, children too, however soon it comes.
func TestSecondSignal(t *testing.T) {
	for _, c := range []struct {
		first, second syscall.Signal
		pause         time.Duration
		status        int
	}{
		{syscall.SIGTERM, syscall.SIGTERM, 300 * time.Millisecond, 143},
		{syscall.SIGINT, syscall.SIGINT, 300 * time.Millisecond, 130}, // sooner, the system may take two of a kind for one
		{syscall.SIGINT, syscall.SIGTERM, 5 * time.Millisecond, 143},
		{syscall.SIGTERM, syscall.SIGINT, 50 * time.Millisecond, 130},
	} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload) values ('{}')`)
		out := filepath.Join(t.TempDir(), "out")
		e := r.start([]string{"OUT=" + out, "EBB_GRACE=5m", `EBB_QUEUE_DEFAULT_COMMAND=sh -c 'trap "" TERM INT; echo $$ >$OUT.new; mv $OUT.new $OUT; sleep 600'`}, "run")
		untilFile(t, out)
		var group int
		fmt.Sscan(linesOf(t, out)[0], &group)
		e.Process.Signal(c.first)
		time.Sleep(c.pause) // the pause between the signals is the input
		began := time.Now()
		e.Process.Signal(c.second)
		e.wait(c.status)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%v, %v: ended after %v", c.first, c.second, took)
		}
		for deadline := time.Now().Add(10 * time.Second); syscall.Kill(-group, 0) == nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the command is still there")
			}
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values ('{}')`)
	handler := "EBB_QUEUE_DEFAULT_COMMAND=true"
	stranger, err := url.Parse(schematest.Direct(r.url)) // to a pooler all users may be one
	if err != nil {
		t.Fatal(err)
	}
	stranger.User = url.UserPassword("nobody_such", "s3cr3t")
	for _, c := range []struct {
		name     string
		settings []string
		args     []string
		before   string
		status   int
		text     string
	}{
		{"missing schema", []string{handler, "EBB_SCHEMA=none"}, []string{"run"}, "", 78, "schema none is at version 0, this ebb needs 1; run: ebb migrate"},
		{"newer schema", []string{handler}, []string{"run"}, `update ebb.jobs_version set version = 7, oldest = 7`, 78, "use a newer ebb"},
		{"older schema", []string{handler}, []string{"run"}, `update ebb.jobs_version set version = 0`, 78, "run: ebb migrate"},
		{"no Postgres", []string{handler, "DATABASE_URL=postgres://u:s3cr3t@127.0.0.1:1/db", "EBB_CONNECT_TIMEOUT=1s"}, []string{"run"}, "", 1, "connection refused"},
		{"wrong password", []string{handler, "DATABASE_URL=" + stranger.String()}, []string{"run"}, "", 1, ""},
		{"no handler", nil, []string{"run"}, "", 78, "EBB_QUEUE_"},
		{"no such program", []string{"EBB_QUEUE_DEFAULT_COMMAND=no-such-program"}, []string{"run"}, "", 78, "no-such-program"},
		{"number for a duration", []string{handler, "EBB_LEASE=30", "EBB_GRACE=-5s"}, []string{"run"}, "", 78, "EBB_GRACE"},
		{"unknown setting", []string{handler, "EBB_CONCURENCY=3"}, []string{"run"}, "", 78, "EBB_CONCURRENCY"},
		{"blank database", []string{handler, "DATABASE_URL= "}, []string{"run"}, "", 78, "DATABASE_URL"},
		{"unknown command", nil, []string{"rum"}, "", 78, "run"},
	} {
		if c.before != "" {
			r.exec(c.before)
		}
		e := r.start(c.settings, c.args...)
		e.wait(c.status)
		if text := e.stderr.String(); !strings.Contains(text, c.text) || strings.Contains(text, "s3cr3t") || strings.Contains(text, "goroutine ") {
			t.Errorf("%s: %s", c.name, text)
		}
		r.want(`select status from ebb.jobs`, "(queued)")
	}
}

// The database that holds 100,000 jobs costs a run no more memory than one that holds 10,000.
func TestMemoryDoesNotGrow(t *testing.T) {
	if underRace() {
		t.Skip("NOT TESTED: under the race detector the memory is mostly the detector's; test without -race")
	}
	r := newRig(t)
	var peaks []int64
	for _, n := range []int{10_000, 100_000} {
		r.exec(`insert into ebb.jobs (payload) select '{}' from generate_series(1, $1)`, n)
		e := r.start([]string{"BE_EBB=" + os.DevNull, "EBB_BATCH=100", "EBB_CONCURRENCY=100"}, "run")
		if report := e.wait(0); report.Done != n {
			t.Errorf("%+v", report)
		}
		peaks = append(peaks, e.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10)
	}
	t.Logf("peaks of %d MiB", peaks)
	if peaks[1] > peaks[0]*5/4 || peaks[1] > 40 {
		t.Errorf("peaks of %d MiB", peaks)
	}
}

// underRace says whether the race detector is built in.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
