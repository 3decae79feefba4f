package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// fill puts in jobs in every state, with times that are none among them, and more runs than are shown.
func fill(t *testing.T, url string) {
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload, status, run_at, locked_until) values
		('mail', '{}', 'queued', now() - interval '90 s', null),
		('mail', '{}', 'queued', now(), null),
		('mail', '{}', 'queued', now() + interval '1 h', null),
		('mail', '{}', 'running', now(), now() + interval '1 h'),
		('mail', '{}', 'running', now(), now() - interval '1 s'),
		('mail', '{}', 'running', now(), null),
		('mail', '{}', 'done', now(), null),
		('mail', '{}', 'failed', now(), null),
		('parked', '{}', 'queued', 'infinity', null),
		('ever', '{}', 'queued', '-infinity', null),
		('ever', '{}', 'queued', now(), null),
		('done', '{}', 'done', '-infinity', null),
		(e'odd\nname', '{}', 'done', 'infinity', null)`)
	do(t, db, `insert into ebb.jobs_runs (id, host, version, started_at, finished_at, stopped, error, claimed, done, run_ms)
		select 'run' || n, 'host', 'v1', '2026-01-01 00:00Z'::timestamptz + n * interval '1 day', '2026-01-01 00:00Z'::timestamptz + n * interval '1 day 1 s',
			case when n = 6 then 'error' else 'empty' end, case when n = 6 then 'it does not answer' else '' end, n, n, 1000 * n
		from generate_series(1, 6) n`)
	do(t, db, `insert into ebb.jobs_runs (id, started_at) values ('begun', '2026-01-04 12:00Z')`)
}

var moving = regexp.MustCompile(`("at"|"oldest_due_at"|"oldest_due_seconds"|"table_bytes"|"dead_rows"): ("2[^"]*Z"|[0-9.]+)`)

func TestStatus(t *testing.T) {
	url := schematest.New(t)
	fill(t, url)
	s := setup{env: map[string]string{"DATABASE_URL": url, "EBB_QUEUE_MAIL_COMMAND": "no-such-program", "EBB_QUEUE_IDLE_COMMAND": "x"}}
	got := s.ebb("status", "--json")
	if got.status != 0 || !json.Valid([]byte(got.stdout)) || got.stderr != "" {
		t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	golden(t, "status.json", moving.ReplaceAllString(got.stdout, `$1: "(moving)"`))

	got = s.ebb("status")
	if got.status != 0 || got.stderr != "" {
		t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	golden(t, "status.txt", regexp.MustCompile(`\d+m\d+s|\d+ by|[0-9.]+ MB`).ReplaceAllString(got.stdout, "(moving)"))
}

func TestStatusOfNothing(t *testing.T) {
	s := setup{env: map[string]string{"DATABASE_URL": schematest.New(t)}}
	if got := s.ebb("status"); got.status != 0 || !strings.HasPrefix(got.stdout, "no jobs in schema ebb\n\ndead rows: ") || !strings.HasSuffix(got.stdout, "\noldest snapshot: none, vacuum may remove them all\n\nno runs yet\n") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	got := s.ebb("status", "--json")
	for _, empty := range []string{`"queues": []`, `"unhandled": []`, `"runs": []`} {
		if !strings.Contains(got.stdout, empty) {
			t.Errorf("no %s in %s", empty, got.stdout)
		}
	}
}

// What a role lacks is said with what to do about it, by every command.
func TestHints(t *testing.T) {
	url := schematest.Direct(schematest.New(t)) // CI's pooler makes everybody one user
	db := schematest.Connect(t, url)
	role := text(t, db, `select current_database()`)
	do(t, db, `create role `+role+` login password 'of no importance'`)
	t.Cleanup(func() {
		if _, err := db.Exec(context.Background(), `drop owned by `+role+`; drop role `+role); err != nil {
			t.Error(err)
		}
	})
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	denied := setup{env: map[string]string{"DATABASE_URL": fmt.Sprintf("postgres://%s:of%%20no%%20importance@%s:%d/%s", role, config.Host, config.Port, role)}}
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	reading := setup{env: map[string]string{"DATABASE_URL": url + separator + "default_transaction_read_only=on"}}
	for _, grant := range []string{``, `grant usage on schema ebb to ` + role, `grant select on ebb.jobs_version to ` + role} {
		do(t, db, grant)
		for _, args := range [][]string{{"status"}, {"status", "--json"}, {"enqueue", "mail", "{}"}, {"enqueue", "mail", "{}", "--in", "1h"}, {"plan", "--from-history", "@hourly"}} {
			got := denied.ebb(args...)
			if got.status != 1 || got.stdout != "" || !strings.HasSuffix(got.stderr, " (SQLSTATE 42501); grant that to the role: the README lists what it needs\n") ||
				!strings.HasPrefix(got.stderr, "ebb: ") || strings.Contains(got.stderr, "ERROR") || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%v: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
			}
		}
	}
	if got := reading.ebb("enqueue", "mail", "{}"); got.status != 1 || !strings.Contains(got.stderr, "takes no writes") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	// A try with TLS before the one that counts is not what went wrong.
	standby := setup{env: map[string]string{"DATABASE_URL": url + "&target_session_attrs=standby"}}
	if got := standby.ebb("status"); got.status != 1 || strings.Contains(got.stderr, "TLS") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

func TestStatusFails(t *testing.T) {
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "50ms", "EBB_LOG_LEVEL": "warn"}}.ebb("status")
	if got.status != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: database out of reach") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}
