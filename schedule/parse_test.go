package schedule

import (
	"strings"
	"testing"
	"time"
)

func parse(t testing.TB, text string) Schedule {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func set(t testing.TB, texts ...string) (all Set) {
	t.Helper()
	for _, text := range texts {
		all = append(all, parse(t, text))
	}
	return all
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestParse(t *testing.T) {
	for text, five := range map[string]string{
		"*/30 * * * *":                       "*/30 * * * *",
		"0  9-17/2  1,15  JAN-mar  Mon-FRI":  "0 9-17/2 1,15 JAN-mar Mon-FRI",
		"? ? ? ? ?":                          "? ? ? ? ?",
		"05 00 * * 0":                        "05 00 * * 0",
		"5/20 * * * *":                       "5/20 * * * *",
		"@hourly":                            "0 * * * *",
		"@daily":                             "0 0 * * *",
		"@midnight":                          "0 0 * * *",
		"@weekly":                            "0 0 * * 0",
		"@monthly":                           "0 0 1 * *",
		"@annually":                          "0 0 1 1 *",
		"CRON_TZ=Europe/Berlin 0 6 * * *":    "0 6 * * *",
		"TZ=America/New_York   30 2 * * SUN": "30 2 * * SUN",
		"CRON_TZ=UTC @yearly":                "0 0 1 1 *",
		"0 0 30 2 1":                         "0 0 30 2 1", // either day field is enough: Mondays in February
		"0 0 29 2 *":                         "0 0 29 2 *",
	} {
		if s, err := Parse(text); err != nil || s.Five() != five || s.String() != text {
			t.Errorf("%q: %q, %v", text, s.Five(), err)
		}
	}
}

// What robfig/cron takes for something else.
func TestRefused(t *testing.T) {
	for text, says := range map[string]string{
		"0 0 30 2 *":                            "never fires",
		"0 0 31 4 *":                            "never fires",
		"0 0 31 2,4,6,9,11 *":                   "never fires",
		"0 0 31 FEB ?":                          "never fires",
		", * * * *":                             "comma with nothing beside it",
		"*,, * * * *":                           "comma with nothing beside it",
		",5 * * * *":                            "comma with nothing beside it",
		"* * , * *":                             "comma with nothing beside it",
		"*-5 * * * *":                           "write * or 0-5",
		"+5 * * * *":                            `"+5" is not a number from 0 to 59`,
		"-5 * * * *":                            `not a number from 0 to 59`,
		"60 * * * *":                            "out of range: from 0 to 59",
		"0 24 * * *":                            "out of range: from 0 to 23",
		"0 0 0 * *":                             "out of range: from 1 to 31",
		"0 0 * 13 *":                            "out of range: from 1 to 12",
		"0 0 * * 7":                             "use 0 for Sunday",
		"0 0 * * 5-7":                           "use 0 for Sunday: 5-6,0",
		"0 0 * * 8":                             "out of range: from 0 to 6",
		"0 0 * * FRI-MON":                       "runs backwards; write FRI-SAT,SUN-MON",
		"0 22-2 * * *":                          "runs backwards; write 22-23,0-2",
		"0 0 * * mo":                            "nor a name (SUN-SAT)",
		"0 0 L * *":                             `"L" is not a number from 1 to 31`,
		"0 0 * * 5#2":                           "is not understood",
		"H * * * *":                             "is not understood",
		"*/0 * * * *":                           "step of 0",
		"*/x * * * *":                           `the step "x"`,
		"*/5/5 * * * *":                         `the step "5/5"`,
		"*/99999999999 * * * *":                 "far too large",
		"1-2-3 * * * *":                         "is not understood",
		"٣ * * * *":                             "is not understood",
		"* * * *":                               "needs five fields (minute, hour, day of month, month, day of week) and has 4",
		"0 0 * * * *":                           "needs five fields (minute, hour, day of month, month, day of week) and has 6",
		"":                                      "is empty",
		"  ":                                    "is empty",
		" */5 * * * *":                          "white space around it",
		"*/5 * * * *\n":                         "white space around it",
		"*/5 *\t* * *":                          `the character '\t'`,
		"*/5\u00a0* * * *":                      `the character '\u00a0'`,
		"*/5 * * * *\x00":                       `the character '\x00'`,
		"*/5 * * *\xff *":                       "has the character",
		`"*/5 * * * *"`:                         "quotes in it; take them away",
		"'*/5 * * * *'":                         "quotes in it; take them away",
		"@every 1h":                             "every run is a process of its own",
		"@EVERY 1h":                             "every run is a process of its own",
		"@every":                                "every run is a process of its own",
		"@reboot":                               "@reboot is no time",
		"@Daily":                                "use @daily",
		"@fortnightly":                          "there is no descriptor",
		"@daily * * * *":                        "there is no descriptor",
		"TZ=":                                   "names no zone",
		"TZ=0":                                  `no zone "0"`,
		"CRON_TZ=UTC":                           "needs five fields (minute, hour, day of month, month, day of week) and has 0",
		"CRON_TZ= * * * * *":                    "names no zone",
		"TZ=Local * * * * *":                    "another one on every machine",
		"TZ=../x * * * * *":                     "there is no zone",
		"TZ=Europe/Bonn 0 6 * * *":              "there is no zone",
		"CRON_TZ=UTC TZ=UTC * * * * *":          "and has 6",
		"cron_tz=UTC * * * * *":                 "and has 6",
		strings.Repeat("1,", 600) + "1 * * * *": "more than any schedule needs",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "schedule ") {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}

func TestParseLines(t *testing.T) {
	got, err := ParseLines("\n 0 * * * * \r\n\n@daily\n")
	if err != nil || got.String() != "0 * * * *\n@daily" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = ParseLines("0 * * * *\n0 0 30 2 *\nx")
	if err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), "line 3: ") {
		t.Error(err)
	}
	if got, err := ParseLines(" \n"); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := at(t, "2026-07-01T00:00:00Z")
	for text, want := range map[string]string{
		"0 6 * * *":                          "2026-07-01T06:00:00+02:00",
		"CRON_TZ=UTC 0 6 * * *":              "2026-07-01T06:00:00Z",
		"CRON_TZ=Australia/Sydney 0 6 * * *": "2026-07-02T06:00:00+10:00",
	} {
		if next, ok := parse(t, text).In(berlin).Next(now); !ok || next.Format(time.RFC3339) != want {
			t.Errorf("%s: %v, want %s", text, next, want)
		}
	}
	if next, _ := parse(t, "0 6 * * *").Next(now.In(berlin)); next.Format(time.RFC3339) != "2026-07-01T06:00:00Z" {
		t.Errorf("without a zone: %v", next)
	}
}
