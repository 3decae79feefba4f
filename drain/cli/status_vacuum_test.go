package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain/jobs"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// Status names who keeps dead rows from being removed, and says what to do.
func TestStatusNamesTheOldestSnapshot(t *testing.T) {
	url := schematest.New(t)
	dump := schematest.Connect(t, url)
	do(t, dump, `set application_name = 'nightly dump'`)
	do(t, dump, `begin isolation level repeatable read`)
	do(t, dump, `select 1`)
	pid := dump.PgConn().PID()
	s := setup{env: map[string]string{"DATABASE_URL": url}}
	got := s.ebb("status")
	for _, want := range []string{"\ndead rows: ", fmt.Sprintf("\noldest snapshot: pid %d (application nightly dump, user ", pid), ", idle in transaction, since 20",
		"; vacuum keeps what died since\n", fmt.Sprintf("\nwhat to do: commit or roll back there, or SELECT pg_terminate_backend(%d)", pid)} {
		if got.status != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("exit %d, no %q in %s%s", got.status, want, got.stdout, got.stderr)
		}
	}
	var r statusJSON
	got = s.ebb("status", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatal(err)
	}
	if o := r.Vacuum.Oldest; r.Vacuum.DeadRows == nil || o == nil || *o.PID != int32(pid) || o.Kind != "session" || o.Since == nil || r.Vacuum.Change == "" {
		t.Errorf("%s", got.stdout)
	}
}

func TestStatusOfHolders(t *testing.T) {
	pid, since, rows, bytes := int32(7), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), int64(1234), int64(5<<20)
	at := since.Add(90 * time.Minute)
	known := jobs.Horizon{Dead: &rows, Bytes: &bytes, Role: `an"n`, SeesAll: true}
	for _, c := range []struct {
		holder *jobs.Holder
		hidden bool
		want   []string
	}{
		{&jobs.Holder{Kind: "session", PID: &pid, Application: "psql", User: "ann", State: "active", Since: &since, Transactions: 3}, false,
			[]string{"dead rows: 1234 by", "5.0 MB", "pid 7 (application psql, user ann, active, since 2026-01-01T00:00:00Z, 1h30m, 3 transactions ago)", "pg_cancel_backend(7)"}},
		{&jobs.Holder{Kind: "replication slot", State: "inactive", Name: "o'ld"}, false, []string{"replication slot o'ld (inactive, 0 transactions ago)", "pg_drop_replication_slot('o''ld')"}},
		{&jobs.Holder{Kind: "prepared transaction", User: "ann", State: "prepared", Name: "x"}, false, []string{"prepared transaction x (user ann, prepared,", "ROLLBACK PREPARED 'x'"}},
		{&jobs.Holder{Kind: "standby", PID: &pid, Application: "\x1b[2J"}, false, []string{"pid 7 (application \\x1b[2J,", "hot_standby_feedback"}},
		{&jobs.Holder{Kind: "session", PID: &pid}, true, []string{"pid 7 (", "or an older one, unknown: 2 sessions hidden", `GRANT pg_read_all_stats TO "an""n"`}},
		{nil, true, []string{"oldest snapshot: unknown, 2 sessions hidden", `GRANT pg_read_all_stats TO "an""n"`}},
		{nil, false, []string{"oldest snapshot: none"}},
	} {
		h := known
		h.Holder = c.holder
		if c.hidden {
			h.SeesAll, h.Hidden = false, 2
		}
		var b strings.Builder
		vacuumReport(h).print(&b, at)
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in %s", want, b.String())
			}
		}
		if c.hidden && strings.Contains(b.String(), "none") {
			t.Errorf("what is hidden is called clean: %s", b.String())
		}
	}
}

// A server whose clock is wrong is told from one whose clock is right.
func TestStatusTellsTheSkew(t *testing.T) {
	if got := skewed(-90); !strings.HasPrefix(got, "this machine's is 1m30s ahead of the database's") {
		t.Error(got)
	}
	library := ""
	for _, file := range []string{"/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"} {
		if _, err := os.Stat(file); err == nil {
			library = file
		}
	}
	if library == "" {
		schematest.Missing(t, "faketime", "a server whose clock is wrong needs libfaketime (Debian: apt-get install faketime)")
	}
	server, err := local.Start(t.Context(), local.Options{Env: []string{"LD_PRELOAD=" + library, "FAKETIME=+10m"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	s := setup{env: map[string]string{"DATABASE_URL": server.URL()}}
	if got := s.ebb("migrate"); got.status != 0 {
		t.Fatal(got.stderr)
	}
	if got := s.ebb("status"); !strings.Contains(got.stdout, "\nclock: this machine's is 10m behind the database's") && !strings.Contains(got.stdout, "\nclock: this machine's is 9m59") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	var r statusJSON
	if got := s.ebb("status", "--json"); json.Unmarshal([]byte(got.stdout), &r) != nil || r.SkewS < 590 || r.SkewS > 610 {
		t.Errorf("%s", got.stdout)
	}
}
