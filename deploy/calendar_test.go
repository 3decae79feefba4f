package deploy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schedule"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestCalendar(t *testing.T) {
	for line, want := range map[string]string{
		"*/30 * * * *":                     "*-*-* *:00,30:00 UTC",
		"5 17 * * 0":                       "Sun *-*-* 17:05:00 UTC",
		"0 12 * * 1-5":                     "Mon..Fri *-*-* 12:00:00 UTC",
		"0 0 1 * *":                        "*-*-01 00:00:00 UTC",
		"0 12 15-21 * 2":                   "*-*-15..21 12:00:00 UTC; Tue *-*-* 12:00:00 UTC",
		"*/45 * * * *":                     "*-*-* *:00,45:00 UTC",
		"CRON_TZ=Europe/Berlin 0 6 * * *":  "*-*-* 06:00:00 Europe/Berlin",
		"@daily":                           "*-*-* 00:00:00 UTC",
		"@weekly":                          "Sun *-*-* 00:00:00 UTC",
		"* * * * *":                        "*-*-* *:*:00 UTC",
		"10-50/20,55 8-18 * JAN,NOV ?":     "*-01,11-* 08..18:10,30,50,55:00 UTC",
		"0 0 * * 6,0,1":                    "Mon,Sat,Sun *-*-* 00:00:00 UTC",
		"0 0 * * 5,6,0":                    "Fri..Sun *-*-* 00:00:00 UTC",
		"0 0 */2 * 1":                      "*-*-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 00:00:00 UTC; Mon *-*-* 00:00:00 UTC",
		"0 0 1-31 * 1":                     "*-*-* 00:00:00 UTC; Mon *-*-* 00:00:00 UTC",
		"0 0 30 2 1":                       "Mon *-02-* 00:00:00 UTC", // that date never comes
		"0 0 29 2 *":                       "*-02-29 00:00:00 UTC",
		"0 6 * * *\n0 6,18 * * *":          "*-*-* 06:00:00 UTC; *-*-* 06,18:00:00 UTC",
		"@daily\n@daily":                   "*-*-* 00:00:00 UTC",
		"0 6 * * *\nTZ=Asia/Tokyo @hourly": "*-*-* 06:00:00 UTC; *-*-* *:00:00 Asia/Tokyo",
	} {
		if got := strings.Join(calendarLines(lines(t, line)), "; "); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", line, got, want)
		}
	}
}

// The next twenty times are the same to systemd and to ebb, whatever the expression. Around changes of clocks systemd
// means something else (see the comment in the timer), so that zones are looked at in the winter only.
func TestCalendarIsTheSchedule(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	winter := time.Date(2027, 3, 13, 0, 0, 0, 0, time.UTC)
	endless := time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC) // systemd knows 2199
	for _, test := range []struct {
		zone  string
		count int
		until time.Time
	}{
		{"UTC", 400, endless}, {"Europe/Berlin", 60, winter}, {"America/New_York", 60, winter}, {"Asia/Kolkata", 60, endless},
	} {
		base := time.Date(2026, 11, 30, 0, 0, 30, 0, time.UTC).Add(time.Duration(random.IntN(40*24*60)) * time.Minute)
		var expressions []schedule.Schedule
		for len(expressions) < test.count {
			if s, err := schedule.Parse("CRON_TZ=" + test.zone + " " + expression(random)); err == nil {
				expressions = append(expressions, s)
			}
		}
		wanted := next(expressions, base, test.until)
		for i, got := range systemdNext(t, analyze, expressions, base, test.until) {
			if !slices.Equal(got, wanted[i]) {
				t.Errorf("seed %d: %s from %s, as %q:\nsystemd %s\nebb     %s", seed, expressions[i], base, calendar(expressions[i]), got, wanted[i])
			}
		}
	}
}

const twenty = 20

func next(all []schedule.Schedule, base, until time.Time) (times [][]string) {
	for _, s := range all {
		var next []string
		for at, ok := s.Next(base); ok && at.Before(until) && len(next) < twenty; at, ok = s.Next(at) {
			next = append(next, at.UTC().Format(time.DateTime))
		}
		times = append(times, next)
	}
	return times
}

var elapse = regexp.MustCompile(`(?m)^ *(?:Next elapse|Iter\. #\d+|\(in UTC\)): \w+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC$`)

// systemdNext is the next twenty times of each, several texts of one put together.
func systemdNext(t *testing.T, analyze string, all []schedule.Schedule, base, until time.Time) (times [][]string) {
	t.Helper()
	args := []string{"calendar", fmt.Sprintf("--iterations=%d", twenty), "--base-time=" + base.Format("2006-01-02 15:04:05 MST")}
	for _, s := range all {
		args = append(args, calendar(s)...)
	}
	c := exec.Command(analyze, args...)
	c.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze: %v\n%s", err, out)
	}
	// Each text's part begins with the text, unless it is normal already, and its normal form.
	parts := strings.Split(string(out), "Normalized form:")[1:]
	for _, s := range all {
		var next []string
		for range calendar(s) {
			if len(parts) == 0 {
				t.Fatalf("systemd-analyze says too little:\n%s", out)
			}
			for _, m := range elapse.FindAllStringSubmatch(parts[0], -1) {
				if m[1] < until.Format(time.DateTime) {
					next = append(next, m[1])
				}
			}
			parts = parts[1:]
		}
		slices.Sort(next)
		next = slices.Compact(next)
		times = append(times, next[:min(twenty, len(next))])
	}
	return times
}

// expression is any that five fields can say; not all of them come.
func expression(r *rand.Rand) string {
	names := strings.Fields("SUN MON TUE WED THU FRI SAT")
	field := func(low, high int) string {
		one := func() int { return low + r.IntN(high-low+1) }
		part := func() string {
			a, b := one(), one()
			switch r.IntN(6) {
			case 0:
				return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
			case 1:
				return fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), 1+r.IntN(high))
			case 2:
				return fmt.Sprintf("*/%d", 1+r.IntN(high))
			case 3:
				return fmt.Sprintf("%d/%d", a, 1+r.IntN(high))
			case 4:
				if high == 6 {
					return names[min(a, b)] + "-" + names[max(a, b)]
				}
			}
			return fmt.Sprint(a)
		}
		switch r.IntN(8) {
		case 0, 1, 2:
			return "*"
		case 3:
			return part() + "," + part()
		}
		return part()
	}
	return strings.Join([]string{field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)}, " ")
}

// tool finds a program of systemd's.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, name := range []string{name, "/lib/systemd/" + name, "/usr/lib/systemd/" + name} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	schematest.Missing(t, "systemd", name+" is not installed, and what is made for systemd is not held against systemd (Debian: apt-get install systemd)")
	return ""
}
