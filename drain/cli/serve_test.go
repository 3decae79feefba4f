package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

const rightToken = "0123456789abcdef-one"

// A served is ebb while it serves.
type served struct {
	session
	addr string
}

// serving starts ebb and waits until it listens.
func serving(t *testing.T, env map[string]string, handlers []drain.Queue, args ...string) served {
	t.Helper()
	list := []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	s := served{session: begin(list, nil, handlers, args...)}
	t.Cleanup(func() { // a test that failed leaves no server behind
		s.signals <- syscall.SIGTERM
		s.signals <- syscall.SIGTERM
	})
	for late := time.Now().Add(20 * time.Second); s.addr == ""; time.Sleep(time.Millisecond) {
		_, rest, _ := strings.Cut(s.stderr.String(), `"address":"`)
		s.addr, _, _ = strings.Cut(rest, `"`)
		select {
		case status := <-s.status:
			t.Fatalf("exit %d: %s", status, s.stderr)
		default:
		}
		if time.Now().After(late) {
			t.Fatalf("it does not serve: %s", s.stderr)
		}
	}
	return s
}

// A reply is what came back, with the summary where there is one.
type reply struct {
	status int
	exit   string // the header
	report drain.Report
	text   string
	err    error
}

func (s served) ask(method, path, token string) (r reply) {
	_, port, _ := net.SplitHostPort(s.addr)
	req, err := http.NewRequest(method, "http://127.0.0.1:"+port+path, nil)
	if err != nil {
		return reply{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	r = reply{status: resp.StatusCode, exit: resp.Header.Get("Ebb-Exit-Status"), text: string(text)}
	json.Unmarshal(text, &r.report)
	return r
}

func (s served) run() reply { return s.ask("POST", "/run", rightToken) }

// counting is a handler that takes a moment, and says when it begins.
func counting(begun chan<- struct{}, release <-chan struct{}) []drain.Queue {
	return []drain.Queue{{Name: "default", Handler: func(ctx context.Context, _ drain.Job) error {
		select {
		case begun <- struct{}{}:
		default:
		}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}}
}

// Whoever commits a job and then calls finds it done when the answer is there, however many do so at once: the run in
// progress may have missed it, the one that answers has not. And runs are shared.
func TestServeEnqueueThenCall(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	file := filepath.Join(t.TempDir(), "summary")
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0", "EBB_SUMMARY_FILE": file},
		[]drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error { return nil }}}, "serve")
	const producers, each = 8, 6
	var all sync.WaitGroup
	for range producers {
		all.Go(func() {
			conn, err := pgx.Connect(context.Background(), schematest.Direct(url))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(context.Background())
			for range each {
				var id int64
				var status string
				err := conn.QueryRow(context.Background(), `insert into ebb.jobs (payload) values ('{}') returning id`).Scan(&id)
				r := s.run()
				if err == nil {
					err = conn.QueryRow(context.Background(), `select status from ebb.jobs where id = $1`, id).Scan(&status)
				}
				if err != nil || r.status != 200 || r.exit != "0" || r.report.Stopped != drain.StoppedEmpty || status != "done" {
					t.Errorf("the job is %s after %+v, %v", status, r, err)
				}
			}
		})
	}
	all.Wait()
	if done := text(t, db, `select count(*)::text from ebb.jobs where status = 'done'`); done != fmt.Sprint(producers*each) {
		t.Errorf("%s jobs are done", done)
	}
	s.signals <- syscall.SIGTERM
	got := s.end(t, 10*time.Second)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	runs := text(t, db, `select count(*)::text from ebb.jobs_runs`)
	if got.status != 0 || fmt.Sprint(len(lines)) != runs || len(lines) > producers*each {
		t.Errorf("exit %d, %d summaries of %s runs for %d calls: %s", got.status, len(lines), runs, producers*each, got.stderr)
	}
	if written, _ := os.ReadFile(file); string(written) != lines[len(lines)-1]+"\n" {
		t.Errorf("the summary file has %s", written)
	}
	if strings.Contains(got.stderr+got.stdout, rightToken) || strings.Contains(got.stderr, url) {
		t.Error("a secret is in the output")
	}
}

// A run that fails is answered with its exit status, and ends nothing.
func TestServeGoesOn(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"}, nil,
		"serve", "--strict", "--", "sh", "-c", "exit 65")
	do(t, db, `alter schema ebb rename to away`)
	r := s.run()
	if r.status != 500 || r.exit != "78" || !strings.Contains(r.report.Error, "ebb migrate") || r.report.Stopped != drain.StoppedError {
		t.Errorf("without tables: %+v", r)
	}
	do(t, db, `alter schema away rename to ebb`)
	if r := s.run(); r.status != 200 || r.exit != "0" {
		t.Errorf("with tables: %+v", r)
	}
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	if r := s.run(); r.status != 500 || r.exit != "4" || r.report.Failed != 1 {
		t.Errorf("a job that fails for good, strict: %+v", r)
	}
	if r := s.ask("GET", "/healthz", ""); r.status != 200 || r.text != "{\"state\":\"idle\"}\n" {
		t.Errorf("health: %+v", r)
	}
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 10*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 3 {
		t.Errorf("exit %d: %s%s", got.status, got.stdout, got.stderr)
	}
}

// Each run has its whole budget, however long ebb has been there.
func TestServeBudgetPerRun(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"},
		[]drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error { return nil }}},
		"serve", "--max-runtime", "10s", "--job-timeout", "6s", "--grace", "2s")
	s.program.started = s.program.started.Add(-time.Hour)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	if r := s.run(); r.status != 200 || r.report.Done != 1 || r.report.RunMS > 9000 {
		t.Errorf("%+v", r)
	}
}

// Nothing but the process's end ends a handler that does not return, so ebb goes, and says why.
func TestServeAbandoned(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"},
		[]drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error { <-never; return nil }}},
		"serve", "--job-timeout", "100ms", "--grace", "300ms", "--max-runtime", "2s")
	if r := s.run(); r.status != 500 || r.exit != "5" || r.report.Abandoned != 1 {
		t.Errorf("%+v", r)
	}
	if got := s.end(t, 10*time.Second); got.status != 5 || !strings.Contains(got.stderr, `"serving no longer","why":"the last run left something at work`) {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

// With a schedule alone calls are refused, and the log says when the next run is.
func TestServeSchedule(t *testing.T) {
	s := serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_ADDR": "127.0.0.1:0", "EBB_SCHEDULE": "0 6 1 1 *", "TZ": "Australia/Sydney"}, nil, "serve", "--", "sh")
	if r := s.ask("POST", "/run", ""); r.status != 403 || !strings.Contains(r.text, "EBB_TOKEN") {
		t.Errorf("%+v", r)
	}
	if log := s.stderr.String(); !strings.Contains(log, `"schedule":"0 6 1 1 *","next_run":"20`) || !strings.Contains(log, `-12-31T19:00:00Z"`) {
		t.Errorf("the log: %s", log)
	}
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 5*time.Second); got.status != 0 || got.stdout != "" {
		t.Errorf("exit %d: %s", got.status, got.stdout)
	}
}
