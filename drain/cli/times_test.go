//go:build unix

package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// A time is written in one way, wherever it comes from and wherever the program runs: as RFC 3339 in UTC.
func TestTimesAreInUTC(t *testing.T) {
	url := schematest.New(t)
	do(t, schematest.Connect(t, url), `insert into ebb.jobs (payload, run_at) values ('{}', '2099-01-31 09:00+01')`)
	in := func(settings ...string) []string {
		return append(settings, "DATABASE_URL="+url, "TZ=Asia/Kathmandu", "EBB_LOG_LEVEL=debug", "EBB_IDLE_TIMEOUT=24h", "EBB_SCHEDULE=@hourly")
	}
	// An offset, or a date and a time with a blank in between.
	offset := regexp.MustCompile(`\d\d:\d\d[+-]\d\d|\d{4}-\d\d-\d\d \d\d:\d\d`)
	for form, want := range map[string]string{"json": `"time":"2\d{3}-[^"]+Z","level":"WARN"`, "text": `time=2\d{3}-\S+Z level=WARN`} {
		got := start(t, in("EBB_LOG="+form), "run", "--", "sh").result(t)
		if got.status != 0 || !strings.Contains(got.stdout, `"next_due_at":"2099-01-31T08:00:00Z"`) || !regexp.MustCompile(want).MatchString(got.stderr) ||
			offset.MatchString(got.stdout+got.stderr) {
			t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
		}
	}
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"awake"}, {"awake", "--json"}} {
		if got := start(t, in(), args...).result(t); got.status != 0 || offset.MatchString(got.stdout+got.stderr) || !regexp.MustCompile(`\dT\d\d:\d\d:\d\d[.\d]*Z`).MatchString(got.stdout) {
			t.Errorf("%v: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
		}
	}
}
