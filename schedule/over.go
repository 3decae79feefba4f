package schedule

import "time"

// over is the Next of robfig/cron's SpecSchedule, except where that is not later: in some zones it gives the same time for
// ever when clocks go back over a midnight. There the clock on the wall is looked at minute by minute.
func (s *Schedule) over(after int64) (int64, bool) {
	for limit := after + decades*366*aDay; after < limit; {
		next, ok := s.step(after)
		if !ok || next > after {
			return next, ok
		}
		t := s.at(after)
		for day := after + aDay; after < day; after = t.Unix() {
			if t = t.Add(time.Duration(aMinute-t.Second()) * time.Second); s.matches(t) {
				return t.Unix(), true
			}
		}
	}
	return 0, false
}

// matches says whether the fields have what the clock on the wall shows.
func (s *Schedule) matches(t time.Time) bool {
	return t.Second() == 0 && s.spec.Minute>>t.Minute()&1 != 0 && s.spec.Hour>>t.Hour()&1 != 0 && s.hasDay(t)
}

// step is the Next of robfig/cron's SpecSchedule, step by step, with two differences: it does not give up after five
// years, and it ends in zones that left out a whole day, as Samoa did in 2011, where robfig/cron tries the same day for
// ever. A test holds it to the original.
func (s *Schedule) step(after int64) (int64, bool) {
	t := s.at(after).Add(time.Second)
	zone := t.Location()
	limit := t.Year() + decades
	has := func(bits uint64, n int) bool { return bits>>n&1 != 0 }
	begun := false // from here on t is the beginning of what is looked at
wrap:
	for t.Year() <= limit {
		for !has(s.spec.Month, int(t.Month())) {
			if !begun {
				begun = true
				t = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, zone)
			}
			if t = forward(t, t.AddDate(0, 1, 0)); t.Month() == time.January {
				continue wrap
			}
		}
		for !s.inMonth(t) {
			if !begun {
				begun = true
				t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone)
			}
			next := t.AddDate(0, 0, 1)
			switch h := next.Hour(); { // midnight is not always there
			case h > 12:
				next = next.Add(time.Duration(24-h) * time.Hour)
			case h > 0:
				next = next.Add(-time.Duration(h) * time.Hour)
			}
			if t = forward(t, next); t.Day() == 1 {
				continue wrap
			}
		}
		for !has(s.spec.Hour, t.Hour()) {
			if !begun {
				begun = true
				t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), 0, 0, 0, zone)
			}
			if t = t.Add(time.Hour); t.Hour() == 0 {
				continue wrap
			}
		}
		for !has(s.spec.Minute, t.Minute()) {
			if !begun {
				begun = true
				t = t.Truncate(time.Minute)
			}
			if t = t.Add(time.Minute); t.Minute() == 0 {
				continue wrap
			}
		}
		for t.Second() != 0 {
			if !begun {
				begun = true
				t = t.Truncate(time.Second)
			}
			if t = t.Add(time.Second); t.Second() == 0 {
				continue wrap
			}
		}
		return t.Unix(), true
	}
	return 0, false
}

// forward is the next step, unless it leads back to where it came from or before: then it is a day.
func forward(t, next time.Time) time.Time {
	if next.After(t) {
		return next
	}
	return t.Add(24 * time.Hour)
}
