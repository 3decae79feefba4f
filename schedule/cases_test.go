package schedule

import (
	"strings"
	"testing"
	"time"
)

func kinds(all []Warning) string {
	var texts []string
	for _, w := range all {
		texts = append(texts, string(w.Kind))
	}
	return strings.Join(texts, " ")
}

func year(from time.Time) (time.Time, time.Time) { return from, from.AddDate(1, 0, 0) }

// A daily run whose hour is skipped.
func TestSpringGap(t *testing.T) {
	for _, test := range []struct {
		text, after, next string
		longest           time.Duration
		warned            string
	}{
		{"CRON_TZ=America/New_York 30 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-09 02:30:00 -0400 EDT", 47 * time.Hour, "skipped"},
		{"CRON_TZ=America/Santiago 0 0 * * *", "2025-09-06T12:00:00-04:00", "2025-09-08 00:00:00 -0300 -03", 47 * time.Hour, "skipped"},
		{"CRON_TZ=UTC 30 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-08 02:30:00 +0000 UTC", 24 * time.Hour, ""},
	} {
		s := parse(t, test.text)
		from, to := year(at(t, test.after))
		if next, _ := s.Next(from); next.String() != test.next {
			t.Errorf("%s: next is %v", s, next)
		}
		if g := (Set{s}).Gaps(from, to); g.Longest.Length() != test.longest {
			t.Errorf("%s: the longest gap is %v", s, g.Longest.Length())
		}
		if got := kinds(s.Warnings(from, to)); got != test.warned {
			t.Errorf("%s: warned of %q", s, got)
		}
	}
}

func TestClockWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"CRON_TZ=America/New_York 30 1 * * *":   "the clocks of America/New_York double a run: 2026-11-01 01:30; UTC has no such days",
		"CRON_TZ=America/New_York 30 2 8 3 *":   "the clocks of America/New_York skip a run: 2026-03-08 02:30; UTC has no such days",
		"CRON_TZ=America/New_York */15 2 * * *": "the clocks of America/New_York skip 4 runs: 2026-03-08 02:00, 2026-03-08 02:15, 2026-03-08 02:30 and 1 more; UTC has no such days",
		"CRON_TZ=America/New_York */30 * * * *": "", // an hour more or less is not seen
		"CRON_TZ=America/New_York 0 12 * * *":   "",
		"CRON_TZ=America/New_York 0 */2 * * *":  "the clocks of America/New_York skip a run: 2026-03-08 02:00; UTC has no such days",
		"CRON_TZ=Australia/Lord_Howe 0 * * * *": "the clocks of Australia/Lord_Howe skip",
		"CRON_TZ=Asia/Kathmandu 30 2 * * *":     "",
		"30 2 * * *":                            "",
		"CRON_TZ=America/Santiago 0 12 * * SUN": "",
	} {
		s := parse(t, text)
		from, to := year(at(t, "2026-01-01T00:00:00Z"))
		var got []string
		for _, w := range s.Warnings(from, to) {
			got = append(got, w.Text)
		}
		if joined := strings.Join(got, "\n"); !strings.HasPrefix(joined, want) || want == "" && joined != "" {
			t.Errorf("%s: %s", text, joined)
		}
	}
}

// A step is no period.
func TestSteps(t *testing.T) {
	from, to := year(at(t, "2026-01-01T00:00:00Z"))
	for text, want := range map[string]string{
		"*/90 * * * *":    "step larger than the field: */90 in the minute field is really hourly (minute 0 only)",
		"*/60 * * * *":    "step larger than the field: */60 in the minute field is really hourly (minute 0 only)",
		"0 */36 * * *":    "step larger than the field: */36 in the hour field is really daily (hour 0 only)",
		"0 0 */32 * *":    "step larger than the field: */32 in the day of month field is really monthly (day of month 1 only)",
		"0 0 1 */12 *":    "step larger than the field: */12 in the month field is really yearly (JAN only)",
		"0 0 * * */7":     "step larger than the field: */7 in the day of week field is really weekly (SUN only)",
		"*/90 3 * * *":    "step larger than the field: */90 in the minute field is really minute 0 only",
		"5-10/20 * * * *": "step larger than the field: 5-10/20 in the minute field is really minute 5 only",
		"*/45 * * * *":    "", "*/7 * * * *": "", "*/59 * * * *": "", "*/1 * * * *": "",
	} {
		got := ""
		for _, w := range parse(t, text).Warnings(from, to) {
			got += w.Text
		}
		if got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for text, want := range map[string][2]time.Duration{
		"*/45 * * * *": {15 * time.Minute, 45 * time.Minute}, "*/7 * * * *": {4 * time.Minute, 7 * time.Minute},
		"*/40 * * * *": {20 * time.Minute, 40 * time.Minute}, "*/50 * * * *": {10 * time.Minute, 50 * time.Minute},
		"0 */5 * * *": {4 * time.Hour, 5 * time.Hour}, "5,55 * * * *": {10 * time.Minute, 50 * time.Minute},
		"CRON_TZ=America/New_York 30 1 * * *": {time.Hour, 25 * time.Hour},
	} {
		g := set(t, text).Gaps(from, to)
		if g.Shortest.Length() != want[0] || text[0] == '*' && g.Longest.Length() != want[1] {
			t.Errorf("%s: %v, %v", text, g.Shortest.Length(), g.Longest.Length())
		}
	}
	v := set(t, "*/45 * * * *").Verdict(Compute{IdleTimeout: 20 * time.Minute}, 0, from, to)
	if v.NeverSleeps() || v.Short != v.Pauses || v.LongestShort != 15*time.Minute {
		t.Errorf("%d short, %d pauses, %v", v.Short, v.Pauses, v.LongestShort)
	}
	if w := v.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0].Text, "the compute cannot pause in 8760 of 17520 gaps, of up to 15m (idle timeout 20m): it is awake 58.3 % of the time") {
		t.Errorf("%+v", w)
	}
	if v := set(t, "*/45 * * * *").Verdict(Compute{IdleTimeout: 300 * time.Second}, 0, from, to); v.Short != 0 {
		t.Errorf("%d short", v.Short)
	}
}

// Dates that come seldom, or never; what is refused is in TestRefused.
func TestLeapDayIsRare(t *testing.T) {
	s := parse(t, "0 0 29 2 *")
	from := at(t, "2026-11-30T00:00:00Z")
	if next, _ := s.Next(from); next.Format(time.DateOnly) != "2028-02-29" {
		t.Error(next)
	}
	g := (Set{s}).Gaps(from, (Set{s}).Horizon(from))
	if g.Longest.Length() != 1461*24*time.Hour || Length(g.Longest.Length()) != "1461d (about 4 years)" {
		t.Errorf("%+v", g)
	}
}

// Either day field is enough.
func TestEitherDay(t *testing.T) {
	from := at(t, "2026-09-01T00:00:00Z")
	for text, want := range map[string]string{
		"0 12 15-21 * 2": "1 8 15 16 17 18 19 20 21 22 29",
		"0 0 */2 * 3":    "1 2 3 5 7 9 11 13 15 16 17 19 21 23 25 27 29 30",
		"0 0 1-7 * MON":  "1 2 3 4 5 6 7 14 21 28",
		"0 0 1 * *":      "1",
		"0 0 * * 1":      "7 14 21 28",
	} {
		s := parse(t, text)
		var days []string
		for _, at := range s.Between(from, from.AddDate(0, 1, 0)) {
			days = append(days, at.Format("2"))
		}
		if got := strings.Join(days, " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
		noted := kinds(s.Warnings(year(from))) == string(KindEither)
		if noted != (len(want) > 15) {
			t.Errorf("%s: noted %v", text, noted)
		}
	}
}

// The zone is the one asked for, or it is refused.
func TestZoneIsTheOneAskedFor(t *testing.T) {
	s := parse(t, "CRON_TZ=Europe/Berlin 0 6 * * *")
	for from, want := range map[string]string{"2026-01-01T00:00:00Z": "2026-01-01T06:00:00+01:00", "2026-07-01T00:00:00Z": "2026-07-01T06:00:00+02:00"} {
		if next, _ := s.Next(at(t, from)); next.Format(time.RFC3339) != want {
			t.Error(next)
		}
	}
	if zone, named := s.Zone(); zone.String() != "Europe/Berlin" || !named {
		t.Error(zone, named)
	}
}

// A year of minutes takes less than 100 ms: the best of some tries, for others work on this machine too.
func TestYearOfMinutesIsQuick(t *testing.T) {
	if raced {
		t.Skip("nothing is quick with the race detector")
	}
	from, to := year(at(t, "2026-01-01T00:00:00Z"))
	for _, text := range []string{"* * * * *", "CRON_TZ=Europe/Berlin * * * * *"} {
		best := time.Hour
		for range 50 {
			began := time.Now()
			set(t, text).Gaps(from, to)
			if best = min(best, time.Since(began)); best < 100*time.Millisecond {
				break
			}
		}
		t.Logf("%s: %v", text, best)
		if best > 100*time.Millisecond {
			t.Errorf("%s: %v", text, best)
		}
	}
}
