package schedule

import (
	"testing"
	"time"
)

func TestPropose(t *testing.T) {
	from := at(t, "2026-01-01T00:00:00Z")
	c := Compute{IdleTimeout: 5 * time.Minute, Resume: time.Second}
	for _, test := range []struct {
		others  []string
		latency time.Duration
		want    string
		beats   bool // the naive line, by an hour a month or more
	}{
		{nil, time.Hour, "0 * * * *", false},
		{nil, 30 * time.Minute, "*/30 * * * *", false},
		{nil, 45 * time.Minute, "*/30 * * * *", false},
		{nil, 90 * time.Minute, "0 */3 * * *\n30 1-23/3 * * *", true},
		{nil, 5 * time.Hour, "0 */5 * * *", true},
		{nil, 24 * time.Hour, "0 0 * * *", false},
		{nil, 36 * time.Hour, "0 0 * * *", false},
		{nil, 48 * time.Hour, "0 0 */2 * *", true},
		{nil, 7 * 24 * time.Hour, "0 0 * * 0", true},
		{nil, 40 * 24 * time.Hour, "0 0 1 * *", true},
		{nil, time.Minute, "* * * * *", false},
		{[]string{"17 * * * *"}, time.Hour, "17 * * * *", true},
		{[]string{"17 */6 * * *"}, time.Hour, "17 * * * *", true},
		{[]string{"*/20 * * * *"}, time.Hour, "0 * * * *", false},
		{[]string{"7-59/20 * * * *"}, 25 * time.Minute, "7-59/20 * * * *", true},
		{[]string{"12 3 * * *", "47 15 * * *"}, 13 * time.Hour, "12 3 * * *\n47 15 * * *", true},
		{[]string{"CRON_TZ=America/New_York 17 */2 * * *"}, 2 * time.Hour, "17 */2 * * *", true},
		{[]string{"CRON_TZ=America/New_York 30 9 * * *"}, 26 * time.Hour, "CRON_TZ=America/New_York 30 9 * * *", true},
	} {
		others := set(t, test.others...)
		p, err := Propose(others, test.latency, c, 30*time.Second, from)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Lines.String(); got != test.want {
			t.Errorf("%v, %v: %q, %.2f h; naive %s: %.2f h", test.others, test.latency, got, p.Together.HoursAMonth(), p.Naive, p.NaiveTogether.HoursAMonth())
		}
		if p.Saves() < -1e-6 || test.beats && p.Saves() < 0.2 {
			t.Errorf("%v, %v: %q saves %v hours a month", test.others, test.latency, p.Lines, p.Saves())
		}
		if longest := p.Lines.Gaps(from, p.Lines.Horizon(from)).Longest.Length(); longest > test.latency {
			t.Errorf("%v, %v: %q has a gap of %v", test.others, test.latency, p.Lines, longest)
		}
	}
	if _, err := Propose(nil, time.Second, c, 0, from); err == nil {
		t.Error("a latency of a second")
	}
}

// Where runs are closer than the compute's timeout, uneven ones are cheaper.
func TestProposeUneven(t *testing.T) {
	from := at(t, "2026-01-01T00:00:00Z")
	p, err := Propose(nil, 45*time.Minute, Compute{IdleTimeout: 20 * time.Minute}, 30*time.Second, from)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Lines.String(); p.Saves() < 50 || got != "0,15 * * * *" && got != "0,45 * * * *" {
		t.Errorf("%s saves %v", got, p.Saves())
	}
}

func TestCompare(t *testing.T) {
	from := at(t, "2026-01-01T00:00:00Z")
	start := func(minutes float64) time.Time { return from.Add(time.Duration(minutes * float64(time.Minute))) }
	h := set(t, "*/30 * * * *").Compare([]time.Time{start(150), start(0.1), start(29.9), start(94), start(97), start(100)})
	if h.Runs != 6 || h.Scheduled != 6 || len(h.Missed) != 2 || !h.Missed[0].Equal(start(60)) || !h.Missed[1].Equal(start(120)) || len(h.Stray) != 2 {
		t.Errorf("%+v", h)
	}
	if h.Gaps.Shortest.Length() != 3*time.Minute || h.Gaps.Count != 5 {
		t.Errorf("%+v", h.Gaps)
	}
	if h := (Set{}).Compare(nil); h.Runs != 0 {
		t.Errorf("%+v", h)
	}
}
