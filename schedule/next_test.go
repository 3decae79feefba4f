package schedule

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// zones are those whose clocks do odd things: half hours, midnights that there are not, whole days that there are not,
// Ramadan, offsets of 45 minutes.
var zones = []string{"UTC", "America/New_York", "Europe/Berlin", "Europe/London", "Australia/Lord_Howe", "America/Santiago",
	"America/Sao_Paulo", "Africa/Cairo", "Africa/Casablanca", "Asia/Kathmandu", "Asia/Tehran", "Pacific/Chatham",
	"Pacific/Apia", "America/Havana", "Asia/Beirut", "Antarctica/Troll", "America/Asuncion", "Asia/Gaza", "America/St_Johns"}

func randomField(r *rand.Rand, f field) string {
	value := func() int { return f.min + r.IntN(f.max-f.min+1) }
	var items []string
	for range 1 + r.IntN(3) {
		a, b := value(), value()
		switch r.IntN(5) {
		case 0:
			items = append(items, fmt.Sprint(a))
		case 1:
			items = append(items, fmt.Sprintf("%d-%d", min(a, b), max(a, b)))
		case 2:
			items = append(items, fmt.Sprintf("*/%d", 1+r.IntN(f.max+5)))
		case 3:
			items = append(items, fmt.Sprintf("%d/%d", a, 1+r.IntN(f.max)))
		default:
			items = append(items, fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), 1+r.IntN(9)))
		}
	}
	return strings.Join(items, ",")
}

func randomCron(r *rand.Rand) string {
	var texts []string
	for _, f := range fields {
		text := "*"
		if r.IntN(2) == 0 {
			text = randomField(r, f)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// What is read from the fields is what robfig/cron says, going from run to run: so it is what Kubernetes does.
func TestNextIsRobfigs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	tested, enough := 0, 2000
	if raced {
		enough = 200
	}
	for tested < enough {
		text := "CRON_TZ=" + zones[r.IntN(len(zones))] + " " + randomCron(r)
		s, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "never fires") {
				continue
			}
			t.Fatal(err)
		}
		theirs, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		zone, _ := s.Zone()
		first := 1990
		if zone.String() == "Pacific/Apia" {
			first = 2012 // over 30 December 2011, which was not, robfig/cron does not come back
		}
		from := time.Date(first+r.IntN(60), time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), r.IntN(60), 0, zone)
		if changes := s.changes(from, from.AddDate(1, 0, 0)); len(changes) > 0 && r.IntN(2) == 0 {
			from = time.Unix(changes[0].at-int64(r.IntN(3*aDay)), 0).In(zone) // shortly before a change
		}
		want := from
		n := 0
		for got := range s.fires(from.Unix(), never) {
			before := want
			if want = theirs.Next(want); want.IsZero() || !want.After(before) {
				break // they look no further than five years, and where clocks go back over a midnight they stay
			}
			if !s.at(got).Equal(want) {
				t.Fatalf("seed %d: %s from %v: run %d is %v, want %v", seed, text, from, n, s.at(got), want)
			}
			if n++; n == 150 {
				break
			}
		}
		if n > 0 {
			tested++
		}
	}
}

// robfig/cron looks five years ahead, and in a century without a leap day eight lie between two.
func TestLeapDay(t *testing.T) {
	for _, zone := range []string{"", "CRON_TZ=America/New_York "} {
		s := parse(t, zone+"0 0 29 2 *")
		for from, want := range map[string]string{"2026-03-01": "2028-02-29", "2096-02-28": "2096-02-29", "2096-03-05": "2104-02-29", "2099-12-31": "2104-02-29"} {
			next, ok := s.Next(at(t, from+"T12:00:00Z"))
			if got := next.Format(time.DateTime); !ok || got != want+" 00:00:00" {
				t.Errorf("%s from %s: %s", s, from, got)
			}
		}
		if g := (Set{s}).Gaps(at(t, "2096-03-05T00:00:00Z"), at(t, "2105-03-05T00:00:00Z")); g.Count != 2 || g.Longest.Length() != 2921*24*time.Hour {
			t.Errorf("%+v", g)
		}
	}
}

func TestZeroSchedule(t *testing.T) {
	var s Schedule
	now := at(t, "2026-01-01T00:00:00Z")
	if next, ok := s.Next(now); ok || s.Between(now, now.AddDate(1, 0, 0)) != nil || len(s.Warnings(now, now.AddDate(1, 0, 0))) > 0 {
		t.Errorf("the zero schedule fires at %v", next)
	}
	if g := (Set{}).Gaps(now, now.AddDate(1, 0, 0)); g.Count != 0 {
		t.Errorf("%+v", g)
	}
}

// The window begins with its first moment, and ends before its last.
func TestBetween(t *testing.T) {
	s := parse(t, "*/30 * * * *")
	from := at(t, "2026-01-01T00:00:00Z")
	for _, test := range []struct {
		from, to time.Duration
		want     int
	}{{0, time.Hour, 2}, {time.Nanosecond, time.Hour, 1}, {0, time.Hour + 1, 3}, {-1, 0, 0}, {time.Hour, 0, 0}} {
		if got := s.Between(from.Add(test.from), from.Add(test.to)); len(got) != test.want {
			t.Errorf("%v: %v", test, got)
		}
	}
	if next, _ := s.Next(from); !next.Equal(from.Add(30 * time.Minute)) {
		t.Errorf("Next is not after: %v", next)
	}
	if next, _ := s.Next(from.Add(-1)); !next.Equal(from) {
		t.Errorf("a moment before: %v", next)
	}
}

func TestUnion(t *testing.T) {
	all := set(t, "*/30 * * * *", "0 * * * *", "CRON_TZ=Asia/Kathmandu 0 * * * *")
	got := all.Between(at(t, "2026-01-01T00:00:00Z"), at(t, "2026-01-01T02:00:00Z"))
	var texts []string
	for _, t := range got {
		texts = append(texts, t.Format("15:04"))
	}
	if s := strings.Join(texts, " "); s != "00:00 00:15 00:30 01:00 01:15 01:30" {
		t.Error(s)
	}
	if next, ok := all.Next(at(t, "2026-01-01T00:00:00Z")); !ok || next.Format("15:04 MST") != "00:15 UTC" {
		t.Error(next)
	}
}

func BenchmarkYearOfMinutes(b *testing.B) {
	for _, text := range []string{"* * * * *", "CRON_TZ=America/New_York * * * * *"} {
		b.Run(text[:min(12, len(text))], func(b *testing.B) {
			s := parse(b, text)
			from := at(b, "2026-01-01T00:00:00Z")
			for b.Loop() {
				if n := len(s.Between(from, from.AddDate(1, 0, 0))); n != 525600 {
					b.Fatal(n)
				}
			}
		})
	}
}

func BenchmarkYearOfMinutesByRobfig(b *testing.B) {
	s, _ := cron.ParseStandard("TZ=UTC * * * * *")
	from := at(b, "2026-01-01T00:00:00Z")
	for b.Loop() {
		for t := from; t.Before(from.AddDate(1, 0, 0)); t = s.Next(t) {
		}
	}
}

// On a day that was left out nothing fires, and the search for it ends.
func TestDayLeftOut(t *testing.T) {
	from := at(t, "2011-12-01T00:00:00Z")
	for text, want := range map[string]string{
		"0 12 30 12 *": "2012-12-30 12:00", "0 12 31 12 *": "2011-12-31 12:00", "0 0 30 * *": "2012-01-30 00:00", "0 12 * * 5": "2011-12-02 12:00",
	} {
		if next, ok := parse(t, "CRON_TZ=Pacific/Apia "+text).Next(from); !ok || next.Format("2006-01-02 15:04") != want {
			t.Errorf("%s: %v", text, next)
		}
	}
}
