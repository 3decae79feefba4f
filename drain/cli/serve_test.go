package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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

// The first signal stops the run in progress as in ebb run: what works may end, the rest is given back, callers get the
// summary, and those who wait for another run are told to call again.
func TestServeFirstSignal(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"},
		counting(begun, release), "serve", "--concurrency", "1")
	first, second := make(chan reply, 1), make(chan reply, 1)
	go func() { first <- s.run() }()
	<-begun
	if r := s.ask("GET", "/healthz", ""); r.text != "{\"state\":\"running\"}\n" {
		t.Errorf("health: %+v", r)
	}
	go func() { second <- s.run() }()
	time.Sleep(50 * time.Millisecond) // most probably it waits then; else it is refused as well
	s.signals <- syscall.SIGTERM
	if r := <-second; r.status != 503 && r.err == nil {
		t.Errorf("a call that waited: %+v", r)
	}
	for !strings.Contains(s.stderr.String(), "stopping") {
		time.Sleep(time.Millisecond)
	}
	close(release)
	if r := <-first; r.status != 200 || r.report.Stopped != drain.StoppedSignal || r.report.Done != 1 || r.report.DueLeft != 29 {
		t.Errorf("the run in progress: %+v", r)
	}
	got := s.end(t, 20*time.Second)
	if r := got.summary(t); got.status != 0 || r.Stopped != drain.StoppedSignal || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if left := text(t, db, `select count(*)::text from ebb.jobs where status = 'running'`); left != "0" {
		t.Errorf("%s jobs are still running", left)
	}
}

// What came of the run that the signal stopped is the exit status; what came of those before it is not.
func TestServeExitStatus(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	begun, release := make(chan struct{}, 2), make(chan struct{}, 2)
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"},
		[]drain.Queue{{Name: "default", Handler: func(context.Context, drain.Job) error {
			begun <- struct{}{}
			<-release
			return drain.Misconfigured(errors.New("a setting is wrong"))
		}}}, "serve")
	for _, signal := range []bool{false, true} {
		do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
		answer := make(chan reply, 1)
		go func() { answer <- s.run() }()
		<-begun
		if signal {
			s.signals <- syscall.SIGTERM
			for !strings.Contains(s.stderr.String(), "stopping") {
				time.Sleep(time.Millisecond)
			}
		}
		release <- struct{}{}
		if r := <-answer; r.status != 500 || r.exit != "5" {
			t.Errorf("%+v", r)
		}
	}
	if got := s.end(t, 10*time.Second); got.status != 5 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
	s = serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0", "EBB_CONNECT_TIMEOUT": "10ms"}, nil, "serve", "--", "sh")
	if r := s.run(); r.status != 500 || r.exit != "1" || r.report.Stopped != drain.StoppedError {
		t.Errorf("%+v", r)
	}
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 10*time.Second); got.status != 0 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

func TestServeSecondSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the handlers are shell commands")
	}
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	s := serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"}, nil,
		"serve", "--grace", "5m", "--", "sh", "-c", "trap '' TERM; echo pid $$; sleep 600")
	go s.run()
	pid := waitForPID(t, s.stderr)
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	got := s.end(t, 5*time.Second)
	if r := got.summary(t); got.status != 143 || r.Stopped != drain.StoppedSignal || r.Abandoned != 1 || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	waitUntilGone(t, pid)
	// Between runs there is nothing to say, and no summary of an earlier one is said again.
	s = serving(t, map[string]string{"DATABASE_URL": url, "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0"}, nil, "serve", "--", "true")
	s.run()
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 5*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s", got.status, got.stdout)
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
	if got := s.end(t, 10*time.Second); got.status != 5 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

// Mistakes are said all at once, without a connection, and secrets never.
func TestServeRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"nothing starts a run", nil, []string{"nothing would ever start a run", "EBB_SCHEDULE", "EBB_TOKEN"}},
		{"a blank token is none", map[string]string{"EBB_TOKEN": " "}, []string{"nothing would ever start a run"}},
		{"a short token", map[string]string{"EBB_TOKEN": "se-cret-15-long"}, []string{"EBB_TOKEN is shorter than 16 characters"}},
		{"a quoted token", map[string]string{"EBB_TOKEN": `"` + rightToken + `"`}, []string{"EBB_TOKEN is in quotes"}},
		{"a token of two words", map[string]string{"EBB_TOKEN": "0123456789 0123456789"}, []string{"EBB_TOKEN has white space"}},
		{"a token beyond ASCII", map[string]string{"EBB_TOKEN": "0123456789abcdefé"}, []string{"cannot carry"}},
		{"both tokens", map[string]string{"EBB_TOKEN": rightToken, "EBB_TOKEN_FILE": write("good", rightToken)}, []string{"unset one of them"}},
		{"no token file", map[string]string{"EBB_TOKEN_FILE": dir + "/none"}, []string{"EBB_TOKEN_FILE: open"}},
		{"a blank token file", map[string]string{"EBB_TOKEN_FILE": write("blank", " \n")}, []string{"the token in EBB_TOKEN_FILE is blank"}},
		{"a short token in a file", map[string]string{"EBB_TOKEN_FILE": write("short", "se-cret-15-long\n")}, []string{"the token in EBB_TOKEN_FILE is shorter"}},
		{"a bare port", map[string]string{"EBB_ADDR": "8080", "EBB_TOKEN": rightToken}, []string{`EBB_ADDR: "8080" is not an address and a port; use for example :8080`}},
		{"no port", map[string]string{"EBB_ADDR": "127.0.0.1", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a large port", map[string]string{"EBB_ADDR": ":65536", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a path", map[string]string{"EBB_ADDR": "localhost:80/run", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a strange host", map[string]string{"EBB_ADDR": "a b:80", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a bad PORT", map[string]string{"PORT": "http", "EBB_TOKEN": rightToken}, []string{`PORT: "http"`}},
		{"no such zone", map[string]string{"EBB_SCHEDULE": "0 6 * * *", "TZ": "Mars/Base"}, []string{`TZ: there is no zone "Mars/Base"`}},
		{"all at once", map[string]string{"EBB_SCHEDULE": "nonsense", "EBB_ADDR": "8080", "EBB_TOKEN": "short", "EBB_BATCH": "x"},
			[]string{"EBB_SCHEDULE: ", "EBB_ADDR: ", "EBB_TOKEN is shorter", "EBB_BATCH: "}},
	} {
		env := map[string]string{"DATABASE_URL": nowhere, "EBB_QUEUE_MAIL_COMMAND": "true"}
		for name, value := range test.env {
			env[name] = value
		}
		got := setup{env: env}.ebb("serve")
		for _, want := range test.want {
			if got.status != 78 || !strings.Contains(got.stderr, want) {
				t.Errorf("%s: exit %d, want %q: %s", test.name, got.status, want, got.stderr)
			}
		}
		if secret := strings.TrimSpace(test.env["EBB_TOKEN"]); got.stdout != "" || len(secret) > 9 && strings.Contains(got.stderr, secret[:10]) ||
			strings.Contains(got.stderr, "se-cret") {
			t.Errorf("%s: %s%s", test.name, got.stdout, got.stderr)
		}
	}
	if got := (setup{env: map[string]string{"DATABASE_URL": nowhere}}).ebb("serve", "now"); got.status != 78 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

func TestServeAddress(t *testing.T) {
	for _, test := range []struct{ addr, port, want string }{
		{"", "", "127.0.0.1:8080"}, {"", "9000", ":9000"}, {"[::1]:80", "9000", "[::1]:80"}, {":0", "", ":0"}, {"localhost:80", "", "localhost:80"},
	} {
		if got, mistakes := (Config{Addr: test.addr}).address(map[string]string{"PORT": test.port}); got != test.want || mistakes != nil {
			t.Errorf("EBB_ADDR=%s PORT=%s: %s, %v", test.addr, test.port, got, mistakes)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_TOKEN": rightToken, "EBB_ADDR": l.Addr().String()}}.ebb("serve", "--", "sh")
	if got.status != 1 || !strings.Contains(got.stderr, "ebb: the address "+l.Addr().String()) || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

// The file of the token is read again at every call.
func TestServeTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(rightToken + "\n")
	s := serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_ADDR": "127.0.0.1:0", "EBB_CONNECT_TIMEOUT": "10ms"}, nil,
		"serve", "--token-file", path, "--", "sh")
	if r := s.ask("POST", "/run", ""); r.status != 401 {
		t.Errorf("%+v", r)
	}
	if r := s.run(); r.status != 500 || r.exit != "1" {
		t.Errorf("%+v", r)
	}
	write("another-token-of-length")
	if r := s.run(); r.status != 401 {
		t.Errorf("the old token: %+v", r)
	}
	if r := s.ask("POST", "/run", "another-token-of-length"); r.status != 500 || r.exit != "1" {
		t.Errorf("the new token: %+v", r)
	}
	write("short")
	if r := s.ask("POST", "/run", "short"); r.status != 503 || r.exit != "" {
		t.Errorf("a token that is none: %+v", r)
	}
	if !strings.Contains(s.stderr.String(), "the token in --token-file is shorter") || strings.Contains(s.stderr.String(), rightToken) {
		t.Errorf("the log: %s", s.stderr)
	}
	s.signals <- os.Interrupt
	if got := s.end(t, 5*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("exit %d: %s", got.status, got.stdout)
	}
}

// With a schedule alone calls are refused, and the log says when the next run is.
func TestServeSchedule(t *testing.T) {
	s := serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_ADDR": "127.0.0.1:0", "EBB_SCHEDULE": "0 6 1 1 *", "TZ": "Australia/Sydney"}, nil, "serve", "--", "sh")
	if r := s.ask("POST", "/run", ""); r.status != 403 || !strings.Contains(r.text, "EBB_TOKEN") {
		t.Errorf("%+v", r)
	}
	if log := s.stderr.String(); !strings.Contains(log, `"schedule":"0 6 1 1 *","next_run":"20`) || !strings.Contains(log, `-01-01T06:00:00+11:00"`) {
		t.Errorf("the log: %s", log)
	}
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 5*time.Second); got.status != 0 || got.stdout != "" {
		t.Errorf("exit %d: %s", got.status, got.stdout)
	}
}
