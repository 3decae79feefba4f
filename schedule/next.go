package schedule

import (
	"iter"
	"math/bits"
	"time"
)

// decades is how far the next time is looked for. Eight years lie between two 29 February around 2100; what comes later
// than this never comes.
const decades = 30

// Next is the first time after a given one, in the schedule's zone. It is there for every schedule that Parse gave, as
// far as calendars go.
func (s Schedule) Next(after time.Time) (next time.Time, ok bool) {
	for at := range s.fires(after.Unix(), never) {
		return s.at(at), true
	}
	return time.Time{}, false
}

// Between gives all times from one time to before another.
func (s Schedule) Between(from, to time.Time) (all []time.Time) {
	zone, _ := s.Zone()
	for at := range s.fires(before(from), ceil(to)) {
		all = append(all, time.Unix(at, 0).In(zone))
	}
	return all
}

// at is a second in the schedule's zone.
func (s *Schedule) at(unix int64) time.Time {
	zone, _ := s.Zone()
	return time.Unix(unix, 0).In(zone)
}

const (
	never   = 1 << 40 // in some 35,000 years
	aMinute = 60
	anHour  = 60 * aMinute
	aDay    = 24 * anHour
)

// ceil is the first whole second that is not before a time, and before the last one that is before it.
func ceil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

func before(t time.Time) int64 { return ceil(t) - 1 }

// fires gives the times after one second and before another, each being robfig/cron's Next of the one before it.
//
// Where the clock does not change meanwhile they are read from the fields, a day at a time: a year of minutes takes
// robfig/cron many times as long. Over a change the steps are its own, so that the outcome is, in every odd zone.
func (s *Schedule) fires(after, until int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if s.five == "" {
			return
		}
		for after < until {
			last, more := s.plain(after, until, yield)
			if !more {
				return
			}
			next, ok := s.over(last)
			if !ok || next >= until || !yield(next) {
				return
			}
			after = next
		}
	}
}

// plain gives the times up to the zone's next change, and the last second that it came to: one given, or the first. No
// more are wanted, or there, where more is false.
func (s *Schedule) plain(after, until int64, yield func(int64) bool) (last int64, more bool) {
	t := s.at(after)
	start, end := t.ZoneBounds()
	_, o := t.Zone()
	offset := int64(o)
	local := after + offset
	midnight := local - mod(local, aDay)
	begun := midnight
	if s.spec.Month>>int(t.Month())&1 == 0 {
		begun -= int64(t.Day()-1) * aDay
	}
	if !start.IsZero() && begun-offset-aDay < start.Unix() || offset%aMinute != 0 {
		return after, true // robfig/cron would begin its search before the change
	}
	// Times within a day before the change may be there twice.
	stop, bounded := until, false
	if !end.IsZero() && end.Unix()-aDay < until {
		stop, bounded = end.Unix()-aDay, true
	}
	stop = min(stop, after+decades*366*aDay)
	last = after
	for ; midnight-offset < stop; midnight += aDay {
		if !s.hasDay(time.Unix(midnight, 0).UTC()) {
			continue
		}
		for hours := s.spec.Hour &^ (1 << 63); hours != 0; hours &= hours - 1 {
			h := midnight - offset + int64(bits.TrailingZeros64(hours))*anHour
			if h+anHour <= after {
				continue
			}
			for minutes := s.spec.Minute &^ (1 << 63); minutes != 0; minutes &= minutes - 1 {
				at := h + int64(bits.TrailingZeros64(minutes))*aMinute
				if at <= after {
					continue
				}
				if at >= stop {
					return last, bounded
				}
				if !yield(at) {
					return at, false
				}
				last = at
			}
		}
	}
	return last, bounded
}

// hasDay says whether it fires on a date.
func (s *Schedule) hasDay(date time.Time) bool {
	return s.spec.Month>>int(date.Month())&1 != 0 && s.inMonth(date)
}

// inMonth says whether the day fields match: both must, but where both are restricted either is enough.
func (s *Schedule) inMonth(date time.Time) bool {
	byDate := s.spec.Dom>>date.Day()&1 != 0
	byWeekday := s.spec.Dow>>int(date.Weekday())&1 != 0
	if isStar(s.spec.Dom) || isStar(s.spec.Dow) {
		return byDate && byWeekday
	}
	return byDate || byWeekday
}

func mod(a, b int64) int64 { return (a%b + b) % b }
