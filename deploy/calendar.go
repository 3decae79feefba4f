package deploy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// calendar writes a schedule as systemd's OnCalendar= has it. It is two where both day fields are restricted: either is
// enough then, while in one of systemd's texts both must match. A timer starts its unit once where several of its texts
// come together.
func calendar(s schedule.Schedule) (texts []string) {
	v := s.Values()
	zone, _ := s.Zone()
	months, days := numbers(v.Months, 12), "*"
	at := fmt.Sprintf("%s:%s:00 %s", numbers(v.Hours, 24), numbers(v.Minutes, 60), zone)
	if !v.EveryDay {
		days = numbers(v.Days, 31)
	}
	date := fmt.Sprintf("*-%s-%s %s", months, days, at)
	switch {
	case v.EveryWeekday:
		return []string{date}
	case v.EveryDay:
		return []string{weekdays(v.Weekdays) + " " + date}
	}
	if inCalendar(v.Days, v.Months) {
		texts = append(texts, date)
	}
	return append(texts, fmt.Sprintf("%s *-%s-* %s", weekdays(v.Weekdays), months, at))
}

// numbers writes values of a field as a list, those in a row as ranges; all of them are a star.
func numbers(values []int, all int) string {
	if len(values) == all {
		return "*"
	}
	return list(values, "..", func(v int) string { return fmt.Sprintf("%02d", v) })
}

// weekdays are written by name, systemd having no numbers for them, and from Monday on, so that no range goes over the end.
func weekdays(values []int) string {
	var fromMonday []int
	for _, v := range values {
		fromMonday = append(fromMonday, (v+6)%7)
	}
	slices.Sort(fromMonday)
	return list(fromMonday, "..", func(v int) string { return time.Weekday((v + 1) % 7).String()[:3] })
}

// list writes values in order, three or more in a row as a range from the first one to the last.
func list(values []int, to string, text func(int) string) string {
	var parts []string
	for i := 0; i < len(values); {
		n := 1 // values in a row
		for i+n < len(values) && values[i+n] == values[i]+n {
			n++
		}
		if n < 3 {
			n = 1
			parts = append(parts, text(values[i]))
		} else {
			parts = append(parts, text(values[i])+to+text(values[i+n-1]))
		}
		i += n
	}
	return strings.Join(parts, ",")
}

// inCalendar says whether any of the months has any of the days: systemd takes a date that never comes, and warns.
func inCalendar(days, months []int) bool {
	return slices.ContainsFunc(months, func(m int) bool {
		// A leap year; the day before the next month's first is the month's last.
		return days[0] <= time.Date(2028, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	})
}

// calendarLines are those of all schedules, each once.
func calendarLines(set schedule.Set) (all []string) {
	for _, s := range set {
		for _, text := range calendar(s) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}
