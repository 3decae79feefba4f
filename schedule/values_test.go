package schedule

import (
	"reflect"
	"testing"
	"time"
)

func TestValues(t *testing.T) {
	s, err := Parse("*/45 6-8 ? FEB,4 MON-TUE")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Values()
	days := got.Days
	got.Days = nil
	want := Values{Minutes: []int{0, 45}, Hours: []int{6, 7, 8}, Months: []int{2, 4}, Weekdays: []int{1, 2}, EveryDay: true}
	if !reflect.DeepEqual(got, want) || len(days) != 31 || days[0] != 1 || days[30] != 31 {
		t.Errorf("%+v, days %v", got, days)
	}
	if s, err = Parse("0 0 */2 * 3"); err != nil {
		t.Fatal(err)
	} else if v := s.Values(); v.EveryDay || v.EveryWeekday || len(v.Days) != 16 {
		t.Errorf("%+v", v)
	}
}

func TestMeet(t *testing.T) {
	from := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		lines string
		at    string // empty: never
	}{
		{"*/30 * * * *", ""},
		{"0 * * * *\n30 * * * *", ""},
		{"5 0 * * *\n0 12 * * *\n0 */6 * * *", "2026-11-30T12:00:00Z"},
		{"0 12 15-21 * *\n0 12 * * 2", "2026-12-15T12:00:00Z"},
		{"0 12 * * 2\n0 12 15-21 * *\n0 12 2 12 *", "2026-12-15T12:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 6 * * *\nCRON_TZ=UTC 0 5 * * *", "2026-11-30T06:00:00+01:00"},
	} {
		set, err := ParseLines(test.lines)
		if err != nil {
			t.Fatal(err)
		}
		at, ok := set.Meet(from, from.AddDate(1, 0, 0))
		text := ""
		if ok {
			text = at.Format(time.RFC3339)
		}
		if text != test.at {
			t.Errorf("%q: %q, want %q", test.lines, text, test.at)
		}
	}
}
