package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestPlan(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		want int
	}{
		"plan":          {[]string{"*/30 * * * *", "--compute", "neon", "--price", "0.0265"}, nil, 0},
		"plan-together": {[]string{"*/45 6-20 * * *", "CRON_TZ=America/New_York 30 2 * * *", "0 12 15-21 * 2", "--idle-timeout", "20m", "--runs", "4"}, nil, 0},
		"plan-wide":     {[]string{"*/45 6-20 * * *", "CRON_TZ=America/New_York 30 2 * * *", "--runs", "4"}, map[string]string{"COLUMNS": "200"}, 0},
		"plan-awake":    {[]string{"--runs", "2"}, map[string]string{"EBB_SCHEDULE": "*/5 * * * *\n", "TZ": "Europe/Berlin"}, 78},
		"plan-latency":  {[]string{"17 */2 * * *", "--max-latency", "1h", "--compute", "aurora", "--runs", "2", "--price", "0.06"}, map[string]string{"EBB_SCHEDULE": "*/30 * * * *"}, 0},
	} {
		s := setup{env: test.env}
		args := append([]string{"plan", "--from", "2026-03-01"}, test.args...)
		got := s.ebb(args...)
		if got.status != test.want || (got.stderr == "") != (test.want == 0) {
			t.Errorf("%s: exit %d, %s", name, got.status, got.stderr)
		}
		golden(t, name+".txt", got.stdout)
		if strings.Contains(got.stdout, "\x1b") {
			t.Errorf("%s: colours, though this is no terminal", name)
		}
		got = s.ebb(append(args, "--json")...)
		if got.status != test.want || !json.Valid([]byte(got.stdout)) {
			t.Errorf("%s: exit %d, %s%s", name, got.status, got.stdout, got.stderr)
		}
		if name == "plan" || name == "plan-latency" {
			golden(t, name+".json", got.stdout)
		}
		if strings.Contains(got.stdout, "0001-01-01") {
			t.Errorf("%s: the year 1", name)
		}
	}
	golden(t, "help-plan.txt", (setup{}).ebb("plan", "--help").stdout)
}

func TestPlanNeverSleeps(t *testing.T) {
	s := setup{}
	got := s.ebb("plan", "*/10 * * * *")
	if got.status != 78 || !strings.Contains(got.stdout, "idle timeout 10m (assumed") || !strings.HasPrefix(got.stderr, "ebb: the compute never sleeps: ") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if got := s.ebb("plan", "*/10 * * * *", "--allow-always-awake"); got.status != 0 || got.stderr != "" {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
	if got := s.ebb("plan", "--max-latency", "5m", "--compute", "neon"); got.status != 78 {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
	if got := s.ebb("plan", "*/11 * * * *", "--idle-timeout", "3m"); got.status != 0 {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
}

// All that is wrong is said at once, and no database is asked.
func TestPlanRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		env  map[string]string
		says []string
	}{
		{[]string{"0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *"}, nil, []string{"30 2 *\": it never fires", "31 4 *\": it never fires", "9,11 *\": it never fires"}},
		{[]string{`"*/5 * * * *"`}, nil, []string{"quotes in it; take them away"}},
		{nil, map[string]string{"EBB_SCHEDULE": `"*/5 * * * *"`}, []string{"EBB_SCHEDULE: the quotes in", "EBB_SCHEDULE: schedule"}},
		{nil, map[string]string{"EBB_SCHEDULE": "0 * * * *\n0 0 * * 7"}, []string{"EBB_SCHEDULE: line 2: ", "use 0 for Sunday"}},
		{[]string{"*/5", "*", "*", "*", "*"}, nil, []string{"one argument, in quotes"}},
		{[]string{"0 * * * *", "--price", "x", "--run-time", "5", "--resume", "-1s", "--runs", "-1", "--from", "soon"}, nil,
			[]string{"--price: ", "--run-time: ", "--resume: ", "--runs: ", "--from: "}},
		{[]string{"--max-latency", "30s"}, nil, []string{"--max-latency: cron lines know nothing shorter than 1m"}},
		{[]string{"0 * * * *", "--compute", "oracle"}, nil, []string{`--compute: there is no preset "oracle", but neon, lakebase, aurora, xata, relyt-one; for any other`}},
		{[]string{"0 6 * * *"}, map[string]string{"TZ": "Europe/Bonn"}, []string{`TZ: there is no zone "Europe/Bonn"`}},
		{nil, nil, []string{"plan needs a cron line"}},
		{[]string{"0 * * * *", "--from-history"}, nil, []string{"DATABASE_URL is not set"}},
	} {
		got := setup{env: test.env}.ebb(append([]string{"plan"}, test.args...)...)
		if got.status != 78 || got.stdout != "" {
			t.Errorf("%q: exit %d, %s", test.args, got.status, got.stdout)
		}
		found := false
		for _, says := range test.says {
			found = found || strings.Contains(got.stderr, says)
			if !strings.Contains(got.stderr, says) && !strings.HasPrefix(says, "EBB_SCHEDULE: ") {
				t.Errorf("%q: no %q in %s", test.args, says, got.stderr)
			}
		}
		if !found {
			t.Errorf("%q: %s", test.args, got.stderr)
		}
	}
}

// A run says it before it connects, and refuses a schedule that is none.
func TestRunWarnsThatItNeverSleeps(t *testing.T) {
	env := map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "50ms", "EBB_SCHEDULE": "*/30 * * * *\n*/5 * * * *", "EBB_COMPUTE": "neon"}
	got := setup{env: env}.ebb("run", "--", "sh")
	if got.status != 1 || strings.Count(got.stderr, "never sleeps") != 1 || !strings.Contains(got.stderr, `"idle_timeout":"5m"`) {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
	env["EBB_SCHEDULE"] = "*/30 * * * *"
	if got := (setup{env: env}).ebb("run", "--", "sh"); got.status != 1 || strings.Contains(got.stderr, "never sleeps") {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
	env["EBB_SCHEDULE"] = "0 0 30 2 *"
	if got := (setup{env: env}).ebb("run", "--", "sh"); got.status != 78 || !strings.Contains(got.stderr, "EBB_SCHEDULE: ") || !strings.Contains(got.stderr, "never fires") {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
}

func TestPlanFromHistory(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	s := setup{env: map[string]string{"DATABASE_URL": url}}
	args := []string{"plan", "0 * * * *", "--from-history", "--from", "2026-03-01", "--runs", "2"}
	if got := s.ebb(args...); got.status != 0 || !strings.Contains(got.stdout, "none yet") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	do(t, db, `insert into ebb.jobs_runs (id, started_at, connect_ms, run_ms) select 'run' || n, '2026-01-01 00:00:01Z'::timestamptz + n * interval '1 h', 1000, 61000
		from generate_series(0, 9) n where n <> 4`)
	do(t, db, `insert into ebb.jobs_runs (id, started_at) values ('by hand', '2026-01-01 05:30Z')`)
	got := s.ebb(args...)
	if got.status != 0 || got.stderr != "" {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	golden(t, "plan-history.txt", got.stdout)
	got = s.ebb(append(args, "--json")...)
	var r planJSON
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || r.RunFrom != history || r.RunS != 60 || len(r.History.Missed) != 1 || len(r.History.Stray) != 1 {
		t.Errorf("%v: %+v", err, r.History)
	}
	if got := (setup{env: map[string]string{"DATABASE_URL": schematest.Empty(t)}}).ebb(args...); got.status != 78 || !strings.Contains(got.stderr, "run: ebb migrate") {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
}

// In an empty root the zones are the program's own.
func TestPlanInAnEmptyRoot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("how to see to it that a program finds no file is known for Linux")
	}
	if os.Getuid() != 0 {
		schematest.Missing(t, "root", "chroot needs root")
	}
	root := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(root, "ebb"), module)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(tz string, args ...string) string {
		c := exec.Command("chroot", append([]string{root, "/ebb", "plan", "--runs", "2", "--from", "2026-03-28"}, args...)...)
		c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		if tz != "" {
			c.Env = append(c.Env, "TZ="+tz)
		}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run("", "CRON_TZ=Europe/Berlin 0 6 * * *"); !strings.Contains(out, "2026-03-28 06:00 +01:00") || !strings.Contains(out, "2026-03-29 06:00 +02:00") {
		t.Error(out)
	}
	if out := run("Australia/Sydney", "0 6 * * *"); !strings.Contains(out, "Australia/Sydney (from TZ)") || !strings.Contains(out, "06:00 +11:00") {
		t.Error(out)
	}
	if out := run("", "0 6 * * *"); !strings.Contains(out, "UTC (none is named)") {
		t.Error(out)
	}
}

// The picture has no more columns than there are, whatever the labels and the width.
func TestPictureFits(t *testing.T) {
	long := "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19 */2 1-31 * *"
	for _, width := range []string{"60", "80", "100", "120", "200", "300"} {
		got := setup{env: map[string]string{"COLUMNS": width}}.ebb("plan", long, "@daily", "--from", "2026-03-01", "--idle-timeout", "1m", "--runs", "5")
		n := 0
		for _, r := range width {
			n = n*10 + int(r-'0')
		}
		for line := range strings.Lines(got.stdout) {
			if columns := len([]rune(strings.TrimSuffix(line, "\n"))); columns > n && !strings.HasPrefix(line, long) {
				t.Errorf("%s columns: %d in %s", width, columns, line)
			}
		}
	}
}

// Where clocks go back over a midnight, robfig/cron gives the same time for ever.
func TestPlanOverAMidnightTwice(t *testing.T) {
	got := setup{}.ebb("plan", "CRON_TZ=America/St_Johns 1 0 * * *", "--from", "2006-10-28")
	if got.status != 0 || !strings.Contains(got.stdout, "2006-10-28") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}
