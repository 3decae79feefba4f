package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// freePort is a port that nothing listens on, most probably also when it is used.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// As a service of Cloud Run: a run for every POST, to whatever path, and for nothing else.
func TestCloudRun(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	s := serving(t, map[string]string{"DATABASE_URL": url, "K_SERVICE": "jobs", "PORT": freePort(t), "EBB_QUEUE_DEFAULT_COMMAND": "true", "EBB_ADDR": "127.0.0.1:1"}, nil)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	for _, path := range []string{"/", "/healthz", "/run"} {
		s.ask("GET", path, "")
	}
	if runs := text(t, db, `select count(*)::text from ebb.jobs_runs`); runs != "0" {
		t.Errorf("a probe started a run: %s", runs)
	}
	if r := s.ask("POST", "/", ""); r.status != 200 || r.report.Done != 1 {
		t.Errorf("%+v", r)
	}
	if r := s.ask("POST", "/any/thing", ""); r.status != 200 || r.report.Claimed != 0 {
		t.Errorf("%+v", r)
	}
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 10*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("exit %d: %s", got.status, got.stdout)
	}
}

// The signal leaves ten seconds on Cloud Run, whatever the grace is: the run is over before. And a run whose caller has
// gone is stopped.
func TestCloudRunStops(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	begun := make(chan struct{}, 1)
	s := serving(t, map[string]string{"DATABASE_URL": url, "K_SERVICE": "jobs", "PORT": freePort(t)}, counting(begun, nil))
	conn, err := net.Dial("tcp", s.addr[strings.LastIndex(s.addr, ":"):])
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: ebb\r\nContent-Length: 0\r\n\r\n")
	<-begun
	gone := time.Now()
	conn.Close()
	for s.ask("GET", "/healthz", "").text != "{\"state\":\"idle\"}\n" {
		if time.Since(gone) > 30*time.Second {
			t.Fatal("the run goes on without its caller")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(gone); took > noticeOnCloudRun+2*time.Second {
		t.Errorf("the run was stopped after %v", took)
	}
	do(t, db, `update ebb.jobs set run_at = now()`)
	answer := make(chan reply, 1)
	go func() { answer <- s.ask("POST", "/", "") }()
	<-begun
	told := time.Now()
	s.signals <- syscall.SIGTERM
	r := <-answer
	if r.status != 200 || r.report.Stopped != drain.StoppedSignal || r.report.Released != 1 {
		t.Errorf("%+v", r)
	}
	if got := s.end(t, 10*time.Second); got.status != 0 || time.Since(told) > 10*time.Second {
		t.Errorf("exit %d after %v", got.status, time.Since(told))
	}
	if left := text(t, db, `select string_agg(status, ' ') from ebb.jobs`); left != "queued" {
		t.Errorf("the job is %s", left)
	}
}

// A run ends by itself before its request does, by as much as its record and the answer may take.
func TestCloudRunBudget(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 500)`)
	s := serving(t, map[string]string{"DATABASE_URL": url, "K_SERVICE": "jobs", "PORT": freePort(t), "CLOUD_RUN_TIMEOUT_SECONDS": "5", "EBB_CONCURRENCY": "1"},
		[]drain.Queue{{Name: "default", Handler: func(ctx context.Context, _ drain.Job) error {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
			return ctx.Err()
		}}})
	if r := s.ask("POST", "/", ""); r.status != 200 || r.report.Stopped != drain.StoppedTime || r.report.RunMS > 5000 || r.report.Done == 0 {
		t.Errorf("%+v", r)
	}
}

// A limit that is too short is refused at the start, naming both numbers; one that is not bounds the budget.
func TestCloudRunLimits(t *testing.T) {
	l, err := net.Listen("tcp", ":0") // what is taken by mistake ends as well
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	base := map[string]string{"DATABASE_URL": nowhere, "K_SERVICE": "jobs", "PORT": fmt.Sprint(l.Addr().(*net.TCPAddr).Port), "EBB_QUEUE_MAIL_COMMAND": "true"}
	for _, test := range []struct {
		name string
		env  map[string]string
		want []string // none: the settings are taken, and the port is not
	}{
		{"usual", nil, nil},
		{"too short", map[string]string{"CLOUD_RUN_TIMEOUT_SECONDS": "60", "EBB_JOB_TIMEOUT": "2m"}, []string{"the request timeout of 1m", "EBB_JOB_TIMEOUT 2m", "lengthen the service's request timeout"}},
		{"unknown, and too short for a job", map[string]string{"EBB_JOB_TIMEOUT": "10m"}, []string{"the usual request timeout of 5m", "EBB_JOB_TIMEOUT 10m", "set EBB_MAX_RUNTIME"}},
		{"unknown, but there is a budget", map[string]string{"EBB_JOB_TIMEOUT": "10m", "EBB_MAX_RUNTIME": "20m"}, nil},
		{"no number", map[string]string{"CLOUD_RUN_TIMEOUT_SECONDS": "5m"}, []string{"CLOUD_RUN_TIMEOUT_SECONDS: ", "for example 600"}},
		{"a blank token would open it", map[string]string{"EBB_TOKEN": ""}, []string{"EBB_TOKEN is there but blank"}},
		{"so would no token's file", map[string]string{"EBB_TOKEN_FILE": ""}, []string{"EBB_TOKEN_FILE is there but blank"}},
		{"both", map[string]string{"EBB_TOKEN": " ", "EBB_TOKEN_FILE": "\t"}, []string{"EBB_TOKEN is there but blank", "EBB_TOKEN_FILE is there but blank"}},
		{"a blank token beside a file", map[string]string{"EBB_TOKEN": "", "EBB_TOKEN_FILE": empty}, []string{"EBB_TOKEN is there but blank", "the token in EBB_TOKEN_FILE is blank"}},
		{"a bad port", map[string]string{"PORT": "x"}, []string{"PORT: "}},
		{"no handler", map[string]string{"EBB_QUEUE_MAIL_COMMAND": ""}, []string{"no queue has a handler"}},
	} {
		env := map[string]string{}
		for _, from := range []map[string]string{base, test.env} {
			for name, value := range from {
				env[name] = value
			}
		}
		if test.want == nil {
			env["PORT"] = freePort(t)
			s := serving(t, env, nil)
			s.signals <- syscall.SIGTERM
			if got := s.end(t, 5*time.Second); got.status != 0 {
				t.Errorf("%s: exit %d, %s", test.name, got.status, got.stderr)
			}
			continue
		}
		got := setup{env: env}.ebb()
		for _, want := range test.want {
			if got.status != 78 || !strings.Contains(got.stderr, want) {
				t.Errorf("%s: exit %d, want %q: %s", test.name, got.status, want, got.stderr)
			}
		}
	}
	// With arguments it is what they say, and without both variables it is help.
	for _, env := range []map[string]string{{"K_SERVICE": "jobs"}, {"PORT": "8080"}, {"K_SERVICE": " ", "PORT": "8080"}} {
		if got := (setup{env: env}).ebb(); got.status != 0 || !strings.Contains(got.stdout, "Usage:") {
			t.Errorf("%v: exit %d, %s", env, got.status, got.stderr)
		}
	}
	if got := (setup{env: base}).ebb("version"); got.status != 0 {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
}
