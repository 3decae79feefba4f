package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schedule/awake"
	"github.com/seed829e008e/ebb/schema/schematest"
)

var (
	awakeMoving = regexp.MustCompile(`("at"|"awake_since"|"last_active_at"|"could_pause_at"|"since"|"watched_seconds"): ("2[^"]*Z"|[0-9.]+)`)
	awakePIDs   = regexp.MustCompile(`"pids": \[\s*\d+\s*\]`)
	awakeFor    = regexp.MustCompile(` for \d+m?s?\d*s?`)
)

func maskedAwake(text string) string {
	text = awakeMoving.ReplaceAllString(text, `$1: "(moving)"`)
	text = awakePIDs.ReplaceAllString(text, `"pids": ["(moving)"]`)
	return awakeFor.ReplaceAllString(text, " for (moving)")
}

// A server of its own: on that of all tests everybody's sessions would be seen.
func TestAwake(t *testing.T) {
	t.Parallel()
	server, err := local.Start(t.Context(), local.Options{Settings: map[string]string{"fsync": "off", "autovacuum": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("", func(t *testing.T) { // so that its sessions end before the server
		do(t, schematest.Connect(t, server.URL()+"&application_name=listener"), "listen something")
		do(t, schematest.Connect(t, server.URL()+"&application_name=holder"), "begin")
		s := setup{env: map[string]string{"DATABASE_URL": server.URL(), "EBB_COMPUTE": "neon", "EBB_LOG_LEVEL": "warn"}}
		got := s.ebb("awake", "--json")
		if got.status != 0 || !json.Valid([]byte(got.stdout)) || got.stderr != "" {
			t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
		}
		golden(t, "awake.json", maskedAwake(got.stdout))

		got = s.ebb("awake", "--watch", "1s", "--compute", "aurora", "--idle-timeout", "10m")
		for _, want := range []string{"compute:    aurora, counts connections; idle timeout 10m (given)", "could pause: not before what holds it awake is gone",
			"watched:    for 1s", "yes             1 session with a LISTEN", "yes             1 session idle in transaction"} {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("no %q in\n%s", want, got.stdout)
			}
		}
		if got.status != 0 || got.stderr != "" || strings.Contains(got.stdout, "opened") {
			t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
		}
	})
}

func TestAwakeInWords(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	client, ago := "client backend", func(d time.Duration) *time.Time { at := noon.Add(-d); return &at }
	in := func(state string) *string { return &state }
	s := awake.Snapshot{At: noon, Start: noon.Add(-3 * time.Hour), Role: "ann", Cron: true, Sessions: []awake.Session{
		{PID: 11, Type: &client, Application: "pool", User: "web", Address: "10.0.0.1", Database: "app", State: in("idle"), Changed: ago(2 * time.Minute)},
		{PID: 12, Type: &client, Application: "pool", User: "web", Address: "10.0.0.1", Database: "app", State: in("idle"), Changed: ago(3 * time.Minute)},
		{PID: 13, Type: &client, Application: "bell\a", User: "web", Address: "10.0.0.1", Database: "app", State: in("idle"), Listens: true, Changed: ago(time.Hour)},
		{PID: 14, Application: "psql", User: "bob", Database: "app"},
	}}
	var all strings.Builder
	show := func(title string, s awake.Snapshot, c Config) {
		all.WriteString("# " + title + "\n\n")
		if err := awakeReport(s, c).print(&all); err != nil {
			t.Fatal(err)
		}
		all.WriteString("\n")
	}
	show("activity", s, Config{Compute: "neon"})
	show("connections", s, Config{Compute: "xata"})
	show("no compute", s, Config{})
	show("alone, woken", awake.Snapshot{At: noon, Start: noon.Add(-time.Second), Waited: 2 * time.Second}, Config{Compute: "neon"})
	before := awake.Snapshot{At: noon.Add(-2 * time.Minute), Start: s.Start, Databases: []awake.Database{{Name: "app", Opened: 5}}}
	show("watched", awake.Snapshot{At: noon, Start: s.Start, Before: &before, Databases: []awake.Database{{Name: "app", Opened: 9}}}, Config{Compute: "neon"})
	golden(t, "awake.txt", all.String())
}

func TestAwakeHelp(t *testing.T) {
	got := (setup{}).ebb("awake", "--help")
	if got.status != 0 || got.stderr != "" {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
	golden(t, "help-awake.txt", got.stdout)
}

// Mistakes are said together, and before anybody is woken.
func TestAwakeRefuses(t *testing.T) {
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_COMPUTE": "moon"}}.ebb("awake", "--watch", "2")
	if got.status != 78 || got.stdout != "" || !strings.Contains(got.stderr, "--watch: \"2\" has no unit") || !strings.Contains(got.stderr, "EBB_COMPUTE") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	for _, watch := range []string{"10ms", "25h"} {
		if got := (setup{env: map[string]string{"DATABASE_URL": nowhere}}).ebb("awake", "--watch", watch); got.status != 78 {
			t.Errorf("--watch %s: exit %d, %s", watch, got.status, got.stderr)
		}
	}
}
