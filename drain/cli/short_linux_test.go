package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// nobody is a user that has no process but those of one test, so that limits on processes bind, and bind at once.
func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED, for limits on processes only bind other users than root, and only root can become one")
	}
	id := uint32(1<<20 + os.Getpid())
	return &syscall.Credential{Uid: id, Gid: id}
}

// limited is ebb as a process of that user, under what bash's ulimit says.
func limited(t *testing.T, as *syscall.Credential, limit string, environ []string, before ...string) invocation {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED, for there is no bash, and other shells cannot limit processes")
	}
	args := append(before, bash, "-c", "ulimit "+limit+` && exec "$0" run`, readable(t))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(environ, "BE_EBB=yes", "PATH="+os.Getenv("PATH"), "EBB_LOG=json", "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir = "/"
	var stdout, stderr buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return invocation{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// readable is a copy of this program that other users can run.
func readable(t *testing.T) string {
	t.Helper()
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // both are the test's own
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "ebb")
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// A machine short of something harms no job: what could not be started is given back as it was.
func TestShortMachine(t *testing.T) {
	for _, test := range []struct{ limit, log string }{
		{"-n 24", "raise ulimit -n"},
		{"-n 32", "raise ulimit -n"},
		{"-u 15", "raise ulimit -u"},
		{"-u 12", "raise ulimit -u"},
	} {
		t.Run(test.limit, func(t *testing.T) {
			url := schematest.New(t)
			db := schematest.Connect(t, url)
			do(t, db, `insert into ebb.jobs (queue, payload, run_at, attempts, lost, max_attempts, last_error)
				select 'slow', '{}', now() - interval '1 hour', 4, 2 * (n % 2), 5, 'before' from generate_series(1, 200) n`)
			var as *syscall.Credential
			if strings.HasPrefix(test.limit, "-u") {
				as = nobody(t)
			}
			for range 3 {
				got := limited(t, as, test.limit, []string{"DATABASE_URL=" + url, "EBB_QUEUE_SLOW_COMMAND=sleep 0.2", "EBB_CONCURRENCY=16"})
				r := got.summary(t)
				if got.status != misconfigured || strings.Join(r.Misconfigured, " ") != "slow" || r.Failed+r.Retried+r.Lost > 0 || r.Released == 0 {
					t.Errorf("exit %d\n%s%s", got.status, got.stdout, got.stderr)
				}
				if strings.Count(got.stderr, "could not be started") != 1 || !strings.Contains(got.stderr, test.log) {
					t.Errorf("the log does not say it, or more than once: %s", got.stderr)
				}
			}
			if bad := text(t, db, `select count(*)::text from ebb.jobs where status <> 'done' and (status <> 'queued' or attempts <> 4
				or run_at > now() - interval '1 hour')`); bad != "0" {
				t.Errorf("%s jobs were harmed", bad)
			}
			if bad := text(t, db, `select count(*)::text from ebb.jobs where lost not in (0, 2)`); bad != "0" {
				t.Errorf("%s jobs count as lost", bad)
			}
		})
	}
}

// The other queues are drained first.
func TestShortMachineStopsOneQueue(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload) select q, '{}' from generate_series(1, 20), unnest('{fast,slow}'::text[]) q`)
	got := limited(t, nil, "-n 24", []string{"DATABASE_URL=" + url, "EBB_QUEUES=slow,fast", "EBB_QUEUE_SLOW_COMMAND=sleep 0.2",
		"EBB_QUEUE_FAST_COMMAND=true", "EBB_QUEUE_FAST_CONCURRENCY=1"})
	r := got.summary(t)
	if got.status != misconfigured || r.DueLeft == 0 {
		t.Errorf("exit %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	if left := text(t, db, `select count(*)::text from ebb.jobs where queue = 'fast' and status <> 'done'`); left != "0" && !strings.Contains(got.stdout, `["fast","slow"]`) {
		t.Errorf("%s jobs of the other queue are left: %s%s", left, got.stdout, got.stderr)
	}
}

// As the first process of a container, under a limit that the dead would use up.
func TestFirstProcessKeepsNoneOfTheDead(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload, max_attempts) select q, '{}', 1 from generate_series(1, 200), unnest('{a,b}'::text[]) q`)
	as := nobody(t)
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED, for this user may make no process the first of a container: %v: %s", err, out)
	}
	got := limited(t, nil, "-u 60", []string{"DATABASE_URL=" + url,
		"EBB_QUEUE_A_COMMAND=sh -c '(setsid sleep 0.2 &) ; exit 0'", "EBB_QUEUE_B_COMMAND=sh -c 'exit 0'"},
		"unshare", "--pid", "--fork", "--mount-proc", "setpriv", "--clear-groups", fmt.Sprintf("--reuid=%d", as.Uid), fmt.Sprintf("--regid=%d", as.Gid))
	if r := got.summary(t); got.status != 0 || r.Done != 400 {
		t.Errorf("exit %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}

// What a command sees of its parent under /proc, as the same user.
func TestHandlersCannotReadEbbsEnvironment(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload, max_attempts) values ('{}', 1)`)
	var as *syscall.Credential
	if os.Getuid() == 0 { // whom nothing is hidden from
		as = nobody(t)
	}
	got := limited(t, as, "-n 1024", []string{"DATABASE_URL=" + url,
		"EBB_QUEUE_DEFAULT_COMMAND=sh -c 'for f in environ mem maps auxv fd/0; do if head -c 1 /proc/$PPID/$f; then echo readable: $f; fi; done; " +
			"exec head -c 1 /proc/self/environ'"})
	if got.status != 0 || got.summary(t).Done != 1 || strings.Count(got.stderr, "Permission denied") != 5 || strings.Contains(got.stderr, "readable:") {
		t.Errorf("exit %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}
