package schedule

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// simple is the model for simple minds: it looks at every second.
func simple(all Set, c Compute, run time.Duration, from, to time.Time) float64 {
	fires := map[int64]bool{}
	for _, s := range all {
		for _, at := range s.Between(from.AddDate(0, 0, -3), to) {
			fires[at.Unix()] = true
		}
	}
	seconds := func(d time.Duration) int { return int(d / time.Second) }
	awake, working, idle := 0, 0, 0 // seconds of work left; seconds since it ended
	up := false
	for now := from.AddDate(0, 0, -3).Unix(); now < to.Unix(); now++ {
		if fires[now] {
			need := seconds(run)
			if !up {
				need += seconds(c.Resume)
			}
			up, working, idle = true, max(working, need), 0
		}
		if !up {
			continue
		}
		if now >= from.Unix() {
			awake++
		}
		if working > 0 {
			working--
		} else {
			idle++
		}
		if working == 0 && idle >= seconds(c.IdleTimeout+c.PauseLatency) {
			up = fires[now+1]
		}
	}
	return float64(awake) / to.Sub(from).Seconds()
}

func TestAgainstTheSimpleModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	rounds := 60
	if raced {
		rounds = 10
	}
	for range rounds {
		var all Set
		for range 1 + r.IntN(3) {
			if s, err := Parse("CRON_TZ=" + zones[r.IntN(len(zones))] + " " + randomField(r, fields[minute]) + " " + randomField(r, fields[hour]) + " * * *"); err == nil {
				all = append(all, s)
			}
		}
		c := Compute{IdleTimeout: time.Duration(r.IntN(1800)) * time.Second, Resume: time.Duration(r.IntN(20)) * time.Second,
			PauseLatency: time.Duration(r.IntN(2)*60) * time.Second}
		run := time.Duration(1+r.IntN(300)) * time.Second
		from := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
		to := from.AddDate(0, 0, 2)
		want := simple(all, c, run, from, to)
		v := all.Verdict(c, run, from, to)
		if math.Abs(v.Share-want) > 0.05*want+1e-4 {
			t.Errorf("seed %d: %s: %+v, run %v: %v, the simple model says %v", seed, all, c, run, v.Share, want)
		}
		var sum time.Duration
		for i, g := range v.Awake {
			sum += g.Length()
			if g.Length() <= 0 || i > 0 && g.From.Before(v.Awake[i-1].To) {
				t.Errorf("seed %d: %s: awake %+v", seed, all, v.Awake)
			}
		}
		if sum != v.AwakeTime {
			t.Errorf("seed %d: awake %v, in all %v", seed, sum, v.AwakeTime)
		}
	}
}

// The worked example of the facts: runs of 30 s, five minutes of idle timeout, one second to wake up.
func TestVerdict(t *testing.T) {
	from, to := year(at(t, "2026-01-01T00:00:00Z"))
	c := Compute{IdleTimeout: 5 * time.Minute, Resume: time.Second}
	for _, test := range []struct {
		text         string
		share, hours float64
		pause        time.Duration
		warned       string
	}{
		{"*/6 * * * *", .919, 671, 29 * time.Second, "narrow"},
		{"*/10 * * * *", .552, 403, 4*time.Minute + 29*time.Second, ""},
		{"*/15 * * * *", .368, 269, 9*time.Minute + 29*time.Second, ""},
		{"*/30 * * * *", .184, 134, 24*time.Minute + 29*time.Second, ""},
		{"0 * * * *", .092, 67, 54*time.Minute + 29*time.Second, ""},
		{"0 0 * * *", .004, 2.8, 24*time.Hour - 331*time.Second, ""},
		{"*/5 * * * *", 1, 730, 0, "awake"},
		{"* * * * *", 1, 730, 0, "awake"},
	} {
		v := set(t, test.text).Verdict(c, 30*time.Second, from, to)
		if math.Abs(v.Share-test.share) > .0006 || math.Abs(v.HoursAMonth()-test.hours) > .6 || v.LongestPause.Length() != test.pause || kinds(v.Warnings()) != test.warned {
			t.Errorf("%s: %.4f, %.1f h, %v, %s", test.text, v.Share, v.HoursAMonth(), v.LongestPause.Length(), kinds(v.Warnings()))
		}
		if v.NeverSleeps() != (test.warned == "awake") {
			t.Errorf("%s: never sleeps: %v", test.text, v.NeverSleeps())
		}
	}
	if v := set(t, "*/6 * * * *").Verdict(c, 30*time.Second, from, to); math.Abs(v.Cost(.25*.106)-17.79) > .02 || !strings.Contains(v.Warnings()[0].Text, "91.9 % of the time") {
		t.Errorf("%v, %+v", v.Cost(.25*.106), v.Warnings())
	}
}

// A gap as long as the timeout counts as awake; a second more does not.
func TestGapOfTheTimeout(t *testing.T) {
	from, to := year(at(t, "2026-01-01T00:00:00Z"))
	for timeout, never := range map[time.Duration]bool{10 * time.Minute: true, 10*time.Minute - time.Second: false} {
		if v := set(t, "*/10 * * * *").Verdict(Compute{IdleTimeout: timeout}, 0, from, to); v.NeverSleeps() != never {
			t.Errorf("%v: %v", timeout, v.Share)
		}
	}
}

// What is rare pauses long, also over the window's end.
func TestRarePauses(t *testing.T) {
	from := at(t, "2026-11-30T00:00:00Z")
	all := set(t, "0 0 29 2 *")
	v := all.Verdict(Compute{IdleTimeout: time.Hour}, 0, from, all.Horizon(from))
	if v.Runs != 2 || v.Pauses != 2 || v.LongestPause.Length() != 1461*24*time.Hour-time.Hour {
		t.Errorf("%d runs, %d pauses, %v", v.Runs, v.Pauses, v.LongestPause.Length())
	}
	v = (Set{}).Verdict(Compute{}, 0, from, from.AddDate(1, 0, 0))
	if v.Runs != 0 || v.Share != 0 || v.NeverSleeps() || len(v.Warnings()) > 0 {
		t.Errorf("%+v", v)
	}
}

func TestPresets(t *testing.T) {
	for _, c := range Presets() {
		if got, ok := Preset(c.Name); !ok || got != c || c.Family == "" || c.IdleTimeout <= 0 || c.Resume <= 0 {
			t.Errorf("%+v", c)
		}
		if c.Least > c.IdleTimeout || c.Most > 0 && c.Most < c.IdleTimeout {
			t.Errorf("%+v", c)
		}
	}
	if _, ok := Preset("oracle"); ok {
		t.Error("there is a preset oracle")
	}
	from, to := year(at(t, "2026-01-01T00:00:00Z"))
	c, _ := Preset("aurora")
	c.IdleTimeout = time.Minute
	if got := kinds(set(t, "0 * * * *").Verdict(c, 0, from, to).Warnings()); got != "timeout" {
		t.Error(got)
	}
}
