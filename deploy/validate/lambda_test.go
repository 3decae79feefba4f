package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// TestMain takes away what was built.
func TestMain(m *testing.M) {
	status := m.Run()
	os.RemoveAll(builtIn)
	os.Exit(status)
}

var builtIn string

// built gives the paths of ebb and of AWS's own emulator of a function's environment, each built once.
var built = sync.OnceValues(func() (paths [2]string, err error) {
	if builtIn, err = os.MkdirTemp("", "ebb-lambda-"); err != nil {
		return paths, err
	}
	for i, b := range []struct{ in, what string }{
		{"../..", "."}, {".", "github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie"},
	} {
		paths[i] = filepath.Join(builtIn, []string{"bootstrap", "rie"}[i])
		c := exec.Command("go", "build", "-o", paths[i], b.what)
		c.Dir = b.in
		if out, err := c.CombinedOutput(); err != nil {
			return paths, fmt.Errorf("build %s: %w\n%s", b.what, err, out)
		}
	}
	return paths, nil
})

// A function is an environment of a Lambda function: the emulator, and the ebb that it starts.
type function struct {
	*testing.T
	url string
	rie *exec.Cmd
	log bytes.Buffer
}

// start begins an environment with a timeout in seconds. The emulator starts ebb at the first invocation.
func start(t *testing.T, timeout int, env ...string) *function {
	t.Helper()
	paths, err := built()
	if err != nil {
		t.Fatal(err)
	}
	outside, inside := free(t), free(t)
	f := &function{T: t, url: "http://" + outside + "/2015-03-31/functions/function/invocations"}
	f.rie = exec.Command(paths[1], "--runtime-interface-emulator-address", outside, "--runtime-api-address", inside, paths[0])
	f.rie.Env = append([]string{"PATH=" + os.Getenv("PATH"), fmt.Sprint("AWS_LAMBDA_FUNCTION_TIMEOUT=", timeout)}, env...)
	f.rie.Stdout, f.rie.Stderr = &f.log, &f.log
	f.rie.WaitDelay = time.Second
	f.rie.Dir = t.TempDir()
	if err := f.rie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range f.children() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		f.rie.Process.Kill()
		f.rie.Wait()
		if t.Failed() {
			t.Logf("the environment's log:\n%s", f.log.String())
		}
	})
	f.until("the emulator listens", func() bool {
		conn, err := net.Dial("tcp", outside)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return f
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (f *function) until(what string, is func() bool) {
	f.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("not within half a minute: %s", what)
		}
	}
}

// children are the processes that the emulator started.
func (f *function) children() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, _ := os.ReadFile(path)
		var pid, parent int
		var name, state string
		if fmt.Sscanf(string(text), "%d %s %s %d", &pid, &name, &state, &parent); parent == f.rie.Process.Pid && state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// An answer is what an invocation gave: a summary, or an error.
type answer struct {
	drain.Report
	ErrorMessage, ErrorType string

	text string
	took time.Duration
}

func (f *function) invoke() (a answer) {
	f.Helper()
	began := time.Now()
	resp, err := http.Post(f.url, "application/json", strings.NewReader(`{}`))
	if err != nil {
		f.Error(err)
		return a
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	a.took, a.text = time.Since(began), string(text)
	if err != nil {
		f.Error(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		f.Errorf("status %d, %v: %s", resp.StatusCode, err, text)
	}
	return a
}

// A bench is a migrated database and a session to look into it with.
type bench struct {
	*testing.T
	url string
	db  *pgx.Conn
}

func newBench(t *testing.T) bench {
	t.Helper()
	url := schematest.New(t)
	return bench{t, url, schematest.Connect(t, url)}
}

func (b bench) enqueue(queue string, n int) {
	b.Helper()
	if _, err := b.db.Exec(b.Context(), `insert into ebb.jobs (queue, payload) select $1, '{}' from generate_series(1, $2)`, queue, n); err != nil {
		b.Fatal(err)
	}
}

// due makes everything due.
func (b bench) due() {
	b.Helper()
	if _, err := b.db.Exec(b.Context(), `update ebb.jobs set run_at = now()`); err != nil {
		b.Fatal(err)
	}
}

// states counts the jobs by status, attempts and losses.
func (b bench) states() string {
	b.Helper()
	rows, err := b.db.Query(b.Context(), `select format('%s: %s, attempts %s, lost %s', count(*), status, attempts, lost) from ebb.jobs
		group by status, attempts, lost order by status, attempts, lost`)
	if err != nil {
		b.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(all, "; ")
}

// alone waits until the server has no connection to this database but the test's own.
func (b bench) alone(f *function) {
	b.Helper()
	f.until("no connection is left", func() bool {
		var n int
		if err := b.db.QueryRow(b.Context(), `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`).Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n == 0
	})
}

// One process answers invocation after invocation with the summary of the run that each was, and holds no connection
// in between. It may be frozen there.
func TestLambdaInvocations(t *testing.T) {
	b := newBench(t)
	f := start(t, 60, "DATABASE_URL="+b.url, "EBB_QUEUE_MAIL_COMMAND=cat")
	var runs []string
	var pids [][]int
	for _, n := range []int{25, 0, 3} {
		b.enqueue("mail", n)
		a := f.invoke()
		if a.Stopped != drain.StoppedEmpty || a.Done != n || a.Claimed != n || a.ErrorType != "" {
			t.Errorf("%d jobs: %s", n, a.text)
		}
		if a.RunMS > a.took.Milliseconds() {
			t.Errorf("the run counts from %d ms before its end, the invocation took %v", a.RunMS, a.took)
		}
		b.alone(f)
		runs, pids = append(runs, a.Run), append(pids, f.children())
		for _, pid := range f.children() {
			syscall.Kill(pid, syscall.SIGSTOP)
			syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	slices.Sort(runs)
	if len(slices.Compact(runs)) != 3 || len(pids[0]) != 1 || !slices.Equal(pids[0], pids[1]) || !slices.Equal(pids[1], pids[2]) {
		t.Errorf("runs %v in processes %v", runs, pids)
	}
}

// At the function's limit nothing is running any more, and the answer came before it.
func TestLambdaDeadline(t *testing.T) {
	b := newBench(t)
	b.enqueue("slow", 30)
	const limit = 8
	f := start(t, limit, "DATABASE_URL="+b.url, "EBB_QUEUE_SLOW_COMMAND=sleep 100", "EBB_CONCURRENCY=3")
	a := f.invoke()
	if a.Stopped != drain.StoppedTime || a.Retried == 0 || a.DueLeft == 0 || a.took >= limit*time.Second {
		t.Errorf("after %v: %s", a.took, a.text)
	}
	if got := b.states(); strings.Contains(got, "running") {
		t.Error(got)
	}
	b.alone(f)
}

// What is no intended end fails the invocation, in one line, and the next one is served.
func TestLambdaFailures(t *testing.T) {
	b := newBench(t)
	b.enqueue("mail", 1)
	nowhere := "postgres://someone:hunter2@" + free(t) + "/nothing"
	for _, test := range []struct {
		name     string
		timeout  int
		env      []string
		kind     string
		contains []string
	}{
		{"database away", 30, []string{"DATABASE_URL=" + nowhere, "EBB_CONNECT_TIMEOUT=200ms", "EBB_QUEUE_MAIL_COMMAND=cat"},
			"Ebb.Exit1", []string{"exit status 1: ", "refused", `"stopped":"error"`}},
		{"limit too short", 5, []string{"DATABASE_URL=" + b.url, "EBB_JOB_TIMEOUT=10m", "EBB_QUEUE_MAIL_COMMAND=cat"},
			"Ebb.Exit78", []string{"exit status 78: the function's timeout of 5s ", "EBB_JOB_TIMEOUT 10m and EBB_GRACE 1s together", "nothing was claimed"}},
		{"limit too short for a queue", 5, []string{"DATABASE_URL=" + b.url, "EBB_GRACE=4s", "EBB_QUEUE_MAIL_TIMEOUT=2s", "EBB_QUEUE_MAIL_COMMAND=cat"},
			"Ebb.Exit78", []string{"the function's timeout of 5s ", "EBB_QUEUE_MAIL_TIMEOUT 2s and EBB_GRACE 4s together"}},
		{"mistakes", 5, []string{"DATABASE_URL=" + b.url, "EBB_BATCH=many", "EBB_GRACE=20", "EBB_QUEUE_MAIL_COMMAND=cat"},
			"Ebb.Exit78", []string{"exit status 78: EBB_BATCH", "; EBB_GRACE"}},
		{"misconfigured", 30, []string{"DATABASE_URL=" + b.url, "EBB_QUEUE_MAIL_COMMAND=sh -c 'exit 78'"},
			"Ebb.Exit5", []string{"exit status 5: queues whose handler is misconfigured, or could not be started: mail; {", `"misconfigured":["mail"]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, test.timeout, test.env...)
			for range 2 {
				b.due()
				a := f.invoke()
				if a.ErrorType != test.kind || strings.Contains(a.ErrorMessage, "\n") || strings.Contains(a.ErrorMessage, "hunter2") {
					t.Errorf("%s", a.text)
				}
				for _, part := range test.contains {
					if !strings.Contains(a.ErrorMessage, part) {
						t.Errorf("%q is not in %s", part, a.ErrorMessage)
					}
				}
			}
			b.alone(f)
		})
	}
	if got := b.states(); got != "1: queued, attempts 0, lost 2" { // by the misconfigured one
		t.Error(got)
	}
}

// TERM comes half a second before KILL: by then what was interrupted is given back, the answer is away and the process
// has ended.
func TestLambdaSignal(t *testing.T) {
	b := newBench(t)
	b.enqueue("slow", 10)
	f := start(t, 300, "DATABASE_URL="+b.url, "EBB_QUEUE_SLOW_COMMAND=sh -c 'touch started; exec sleep 100'", "EBB_CONCURRENCY=1")
	answers := make(chan answer, 1)
	go func() { answers <- f.invoke() }()
	f.until("a handler is at work", func() bool {
		_, err := os.Stat(filepath.Join(f.rie.Dir, "started"))
		return err == nil
	})
	signalled := time.Now()
	for _, pid := range f.children() {
		syscall.Kill(pid, syscall.SIGTERM)
	}
	a := <-answers
	if took := time.Since(signalled); took > 5*time.Second { // half a second on a machine with nothing else to do; EBB_GRACE is 20s
		t.Errorf("the answer came %v behind the signal", took)
	}
	if a.Stopped != drain.StoppedSignal || a.Released != 10 || a.ErrorType != "" {
		t.Errorf("%s", a.text)
	}
	if got := b.states(); got != "9: queued, attempts 0, lost 0; 1: queued, attempts 0, lost 1" {
		t.Error(got)
	}
	f.until("ebb has ended", func() bool { return len(f.children()) == 0 })
	b.alone(f)
}

// Two environments at once do no job twice.
func TestLambdaTwice(t *testing.T) {
	b := newBench(t)
	b.enqueue("mail", 60)
	effects := filepath.Join(t.TempDir(), "effects")
	env := []string{"DATABASE_URL=" + b.url, "EBB_QUEUE_MAIL_COMMAND=sh -c 'echo $EBB_JOB_ID >> " + effects + "'"}
	both := []*function{start(t, 60, env...), start(t, 60, env...)}
	answers := make(chan answer, 2)
	for _, f := range both {
		go func() { answers <- f.invoke() }()
	}
	first, second := <-answers, <-answers
	if first.Done+second.Done != 60 || first.ErrorType+second.ErrorType != "" {
		t.Errorf("%s\n%s", first.text, second.text)
	}
	text, _ := os.ReadFile(effects)
	ids := strings.Fields(string(text))
	slices.Sort(ids)
	if len(ids) != 60 || len(slices.Compact(ids)) != 60 {
		t.Errorf("%d effects: %v", len(ids), ids)
	}
	b.alone(both[0])
}
