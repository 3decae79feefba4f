//go:build unix

package drain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// program starts the program of TestMain. Its log goes to a file, which cmd.Stderr names.
func program(t *testing.T, effects, url string, settings ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "run")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EBB_") && !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "DATABASE_URL") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "BE_EBB="+effects, "DATABASE_URL="+url), settings...)
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Error(err)
	}
	return cmd
}

// effects are the jobs started, a line each: id, attempt, run.
func effects(t *testing.T, path string) (lines []string) {
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

// A job that kills its worker ends failed after its own attempts, and takes none of its neighbours with it.
func TestJobThatKillsItsWorker(t *testing.T) {
	for _, concurrency := range []string{"1", "10"} {
		r := newRig(t)
		r.exec(`insert into ebb.jobs (payload, max_attempts, run_at)
			select case when n = 1 then '{"do": "kill"}' else '{}' end::jsonb, 3, now() - interval '1 min' + n * interval '1 s' from generate_series(1, 10) n`)
		path := filepath.Join(t.TempDir(), "effects")
		for range 6 {
			program(t, path, r.url, "EBB_CONCURRENCY="+concurrency, "EBB_LEASE=2s").Wait()
			r.exec(`update ebb.jobs set locked_until = now() - interval '1 s' where status = 'running'`) // the lease runs out
		}
		r.run(drain.Config{Database: database(r.url), Queues: []drain.Queue{{Name: "none", Handler: func(context.Context, drain.Job) error { return nil }}}})
		r.want(`select status, attempts, last_error ~ 'the worker was lost$' as told from ebb.jobs where id = 1`, "(failed,3,t)")
		r.want(`select count(*) from ebb.jobs where id > 1 and status <> 'done'`, "(0)")
		starts := map[string]int{}
		for _, line := range effects(t, path) {
			id, _, _ := strings.Cut(line, " ")
			starts[id]++
		}
		if starts["1"] != 3 {
			t.Errorf("concurrency %s: the job was started %d times", concurrency, starts["1"])
		}
	}
}
