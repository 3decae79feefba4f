package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func do(t *testing.T, db *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, db *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	var s string
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// summary is the last line of standard output.
func (i invocation) summary(t *testing.T) (r drain.Report) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(i.stdout, "\n"), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("%v\nstdout: %s\nstderr: %s", err, i.stdout, i.stderr)
	}
	return r
}

func TestRun(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload) select 'mail', '{}' from generate_series(1, 25)`)
	do(t, db, `insert into ebb.jobs (queue, payload) values ('other', '{}')`)
	file := filepath.Join(t.TempDir(), "summary")
	got := setup{env: map[string]string{"DATABASE_URL": url, "EBB_SUMMARY_FILE": file}}.ebb("run", "--queue", "mail", "--", "sh", "-c", "cat")
	r := got.summary(t)
	if got.status != 0 || r.Stopped != drain.StoppedEmpty || r.Done != 25 || r.Unhandled != 1 || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if written, err := os.ReadFile(file); err != nil || string(written) != got.stdout {
		t.Errorf("the summary file has %s, %v", written, err)
	}
	if host, _ := os.Hostname(); text(t, db, `select host || ' ' || version from ebb.jobs_runs where id = $1`, r.Run) != host+" "+Version() {
		t.Error("host and version are not recorded")
	}
}

// What a run's end means for the exit status is the table in exit_test; here it is seen to come through.
func TestRunStatuses(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want int
	}{
		{"misconfigured", nil, []string{"--", "sh", "-c", "exit 78"}, 5},
		{"failed for good", nil, []string{"--", "sh", "-c", "exit 65"}, 0},
		{"failed for good, strict", map[string]string{"EBB_STRICT": "true"}, []string{"--", "sh", "-c", "exit 65"}, 4},
		{"due left, strict", nil, []string{"--strict", "--max-jobs", "1", "--", "sh", "-c", ":"}, 3},
		{"suspended, strict", nil, []string{"--strict", "--concurrency", "1", "--batch", "1", "--", "sh", "-c", "exit 69"}, 3},
	} {
		do(t, db, `truncate ebb.jobs`)
		do(t, db, `insert into ebb.jobs (payload) values ('{}'), ('{}')`)
		env := map[string]string{"DATABASE_URL": url}
		for name, value := range test.env {
			env[name] = value
		}
		if got := (setup{env: env}).ebb(append([]string{"run"}, test.args...)...); got.status != test.want {
			t.Errorf("%s: exit %d, want %d: %s%s", test.name, got.status, test.want, got.stdout, got.stderr)
		}
	}
}

func TestRunRefusedOrFailed(t *testing.T) {
	empty := schematest.Empty(t)
	file := filepath.Join(t.TempDir(), "summary")
	got := setup{env: map[string]string{"DATABASE_URL": empty}}.ebb("run", "--summary-file", file, "--", "sh")
	if r := got.summary(t); got.status != 78 || r.Stopped != drain.StoppedError || !strings.Contains(r.Error, "run: ebb migrate") {
		t.Errorf("exit %d, %s", got.status, got.stdout)
	}
	if written, _ := os.ReadFile(file); string(written) != got.stdout {
		t.Errorf("the summary file has %s", written)
	}
	got = setup{env: map[string]string{"DATABASE_URL": nowhere}}.ebb("run", "--connect-timeout", "100ms", "--summary-file", file, "--", "sh")
	if r := got.summary(t); got.status != 1 || r.Stopped != drain.StoppedError || r.Looked {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	got = setup{env: map[string]string{"DATABASE_URL": nowhere}}.ebb("run", "--summary-file", t.TempDir(), "--", "sh")
	if got.status != 78 || !strings.Contains(got.stderr, "EBB_SUMMARY_FILE ") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

// Nothing of the URL is in what is printed, logged or kept.
func TestSecretsStayOutOfARun(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload, max_attempts) values ('{}', 1)`)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	got := setup{env: map[string]string{"DATABASE_URL": url, "PGPASSWORD": "secretive", "FOO": "bar", "EBB_LOG_LEVEL": "debug"}}.
		ebb("run", "--", "sh", "-c", "env; env >&2; exit 1")
	kept := text(t, db, `select last_error from ebb.jobs`)
	for _, secret := range []string{url, "secretive", config.Password} {
		if secret != "" && strings.Contains(got.stdout+got.stderr+kept, secret) {
			t.Errorf("printed, logged or kept: %q", secret)
		}
	}
	if !strings.Contains(got.stderr, "FOO=bar") {
		t.Errorf("the command's output is not logged: %s", got.stderr)
	}
}

// A program with handlers in Go gets the whole tree.
func TestHandlersInGo(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload) values ('print', '{"id":9007199254740993}'), ('shell', '{}')`)
	var payload string
	var left time.Duration
	s := setup{
		env: map[string]string{"DATABASE_URL": url, "EBB_QUEUE_PRINT_TIMEOUT": "1m", "EBB_QUEUE_SHELL_COMMAND": "sh -c :"},
		handlers: []drain.Queue{{Name: "print", Handler: func(ctx context.Context, job drain.Job) error {
			payload = string(job.Payload)
			deadline, _ := ctx.Deadline()
			left = time.Until(deadline)
			return drain.Fail(errors.New("no"))
		}}},
	}
	got := s.ebb("run")
	if r := got.summary(t); got.status != 0 || r.Done != 1 || r.Failed != 1 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if payload != `{"id": 9007199254740993}` || left > time.Minute {
		t.Errorf("the handler got %s and %v", payload, left)
	}
}
