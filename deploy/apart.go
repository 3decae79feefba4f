package deploy

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// apart refuses lines of which two fire at once, for a platform on which each is a trigger of its own.
func apart(set schedule.Set, from time.Time, each string) error {
	for i := range set {
		for j := range i {
			if at, ok := meet(set[j], set[i], from); ok {
				return fmt.Errorf("each line of EBB_SCHEDULE is %s, and line %d (%s) and line %d (%s) both fire at %s, which would start two runs: "+
					"write them as one line, or move one by as many minutes as a run may take", each, j+1, set[j], i+1, set[i], at)
			}
		}
	}
	return nil
}

// weekdayCycle is how many years it takes until every date has been on every weekday, in leap years too.
const weekdayCycle = 28

// meet finds a time at which both fire. Lines of one zone meet on a day that both have, at a time of day that both have;
// those of two zones are gone through for a year, or nine where one means 29 February.
func meet(a, b schedule.Schedule, from time.Time) (at string, ok bool) {
	zone, _ := a.Zone()
	if other, _ := b.Zone(); other.String() != zone.String() {
		pair := schedule.Set{a, b}
		moment, ok := pair.Meet(from, pair.Horizon(from))
		return moment.Format(stamp), ok
	}
	u, v := a.Values(), b.Values()
	minute, hour := common(u.Minutes, v.Minutes), common(u.Hours, v.Hours)
	if minute < 0 || hour < 0 {
		return "", false
	}
	first := from.In(zone)
	for n := range weekdayCycle * 366 {
		day := time.Date(first.Year(), first.Month(), first.Day()+n, hour, minute, 0, 0, zone)
		if day.Hour() == hour && !day.Before(from) && has(u, day) && has(v, day) { // it is another hour where the clocks skip that one
			return day.Format(stamp), true
		}
	}
	return "", false
}

// has says whether the line fires on that day.
func has(v schedule.Values, day time.Time) bool {
	date, weekday := slices.Contains(v.Days, day.Day()), slices.Contains(v.Weekdays, int(day.Weekday()))
	either := !v.EveryDay && !v.EveryWeekday
	return slices.Contains(v.Months, int(day.Month())) && (date && weekday || either && (date || weekday))
}

// common is the first value that both have, or -1.
func common(a, b []int) int {
	i := slices.IndexFunc(a, func(v int) bool { return slices.Contains(b, v) })
	if i < 0 {
		return -1
	}
	return a[i]
}
