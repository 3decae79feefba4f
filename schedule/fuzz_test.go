package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{"*/30 * * * *", "CRON_TZ=America/New_York 30 2 * * *", "TZ=0", "TZ=", "CRON_TZ=UTC", "0 0 29 2 *",
		"0 0 31 2,4,6,9,11 *", "*/90 * * * *", ", * * * *", "@every 1h", "@daily", "0 12 15-21 * 2", "TZ= * * * * *",
		"CRON_TZ=Pacific/Apia 0 12 30 12 *", "CRON_TZ=Australia/Lord_Howe 15 2 * * *", "0 0 * * 5-7", "*-5 +5 ? ? ?"} {
		f.Add(text, int64(1_780_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		unix = mod(unix, 8_000_000_000) // up to 2223
		s, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%q: the guards let through what robfig/cron cannot bear: %v", text, err)
			}
			return
		}
		now := time.Unix(unix, 0).UTC()
		from, to := now, now.AddDate(0, 0, 40)
		if next, ok := s.Next(now); !ok || !next.After(now) {
			t.Fatalf("%q: after %v comes %v", text, now, next)
		}
		all := Set{s}
		v := all.Verdict(Compute{IdleTimeout: 5 * time.Minute}, time.Minute, from, to)
		if v.Share < 0 || v.Share > 1 || v.Gaps.Count < 1 || v.Gaps.Shortest.Length() <= 0 || v.Gaps.Shortest.Length() > v.Gaps.Longest.Length() {
			t.Errorf("%q at %d: %+v", text, unix, v.Gaps)
		}
		if said := fmt.Sprint(v, v.Warnings(), s.Warnings(from, to), all.Horizon(from)); v.Pauses > 0 && v.Runs > 0 && strings.Contains(said, "0001-01-01") {
			t.Errorf("%q: the year 1: %s", text, said)
		}
	})
}
