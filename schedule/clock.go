package schedule

import (
	"fmt"
	"strings"
	"time"
)

// A change is one of a zone's clocks. Its times on the wall are seconds as if the zone were UTC.
type change struct {
	at            int64
	before, after int64 // offsets from UTC
}

// changes are those of the schedule's zone in a window, found by looking at every day: ZoneBounds of the time package
// ends some years a day early.
func (s *Schedule) changes(from, to time.Time) (all []change) {
	zone, _ := s.Zone()
	offset := func(unix int64) int64 {
		_, o := time.Unix(unix, 0).In(zone).Zone()
		return int64(o)
	}
	begin, end := from.Unix(), ceil(to)
	before := offset(begin)
	for ; begin < end; begin += aDay {
		low, high := begin, min(begin+aDay, end)
		after := offset(high)
		if after == before {
			continue
		}
		for high-low > 1 {
			if middle := (low + high) / 2; offset(middle) == before {
				low = middle
			} else {
				high = middle
			}
		}
		all = append(all, change{high, before, after})
		before = after
	}
	return all
}

// clockWarnings compares, around every change of clocks in the window, the times at which it fires with those that a
// clock on the wall would show in days without a change.
func (s *Schedule) clockWarnings(from, to time.Time) (all []Warning) {
	var skipped, doubled []string
	for _, c := range s.changes(from, to) {
		lost, twice := s.around(c)
		skipped, doubled = append(skipped, lost...), append(doubled, twice...)
	}
	zone, _ := s.Zone()
	if len(skipped) > 0 {
		all = append(all, Warning{KindSkipped, fmt.Sprintf("the clocks of %s skip %s: %s; UTC has no such days",
			zone, runs(len(skipped)), few(skipped))})
	}
	if len(doubled) > 0 {
		all = append(all, Warning{KindDoubled, fmt.Sprintf("the clocks of %s double %s: %s; UTC has no such days",
			zone, runs(len(doubled)), few(doubled))})
	}
	return all
}

// around gives the times on the wall that it does not fire at, and those that it fires at twice, from the day before a
// change to the day after it. Where it fires every hour, whole hours more or less change nothing.
func (s *Schedule) around(c change) (skipped, doubled []string) {
	first := c.at + min(c.before, c.after)
	last := c.at + max(c.before, c.after)
	begin := first - mod(first, aDay) - aDay
	end := last - mod(last, aDay) + 2*aDay
	hourly := s.spec.Hour&(1<<24-1) == 1<<24-1 && mod(last-first, anHour) == 0

	really := map[int64]int{}
	for at := range s.fires(begin-c.before-1, end-c.after) {
		if at < c.at {
			at += c.before
		} else {
			at += c.after
		}
		really[at]++
	}
	onTheWall := *s
	onTheWall.spec.Location = time.UTC
	for at := range onTheWall.fires(begin-1, end) {
		changed := first <= at && at < last
		switch n := really[at]; {
		case hourly && changed:
		case n == 0:
			skipped = append(skipped, wall(at))
		case n > 1:
			doubled = append(doubled, wall(at))
		}
	}
	return skipped, doubled
}

func wall(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04") }

func runs(n int) string {
	if n == 1 {
		return "a run"
	}
	return fmt.Sprintf("%d runs", n)
}

// few names the first ones.
func few(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
