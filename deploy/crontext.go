package deploy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed829e008e/ebb/schedule"
)

// A dialect is how a scheduler writes a cron field. Everything is written out from the values, so that no name, step or
// descriptor of one dialect means something else in another.
type dialect struct {
	step     string   // before the n of every n-th minute or hour from 0 on
	weekdays []string // in their order, Sunday first; numbers where there are none
}

var (
	unixDialect = dialect{step: "*/"}
	awsDialect  = dialect{step: "0/", weekdays: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}}
)

// unixCron is a schedule in the five fields that unix-cron has, 0 for Sunday. Where both day fields are restricted, either
// is enough, and neither begins with a star.
func unixCron(s schedule.Schedule) string {
	v := plain(s)
	days, weekdays := "*", "*"
	if !v.EveryDay {
		days = unixDialect.list(v.Days, nil)
	}
	if !v.EveryWeekday {
		weekdays = unixDialect.list(v.Weekdays, nil)
	}
	return strings.Join([]string{unixDialect.clock(v.Minutes, 60), unixDialect.clock(v.Hours, 24), days, unixDialect.months(v.Months), weekdays}, " ")
}

// awsCron is a schedule as Amazon EventBridge Scheduler has it: six fields, exactly one of the two day fields being a
// question mark, weekdays by name, for their numbers are one off.
func awsCron(s schedule.Schedule) (string, error) {
	v := plain(s)
	days, weekdays := "*", "?"
	switch {
	case !v.EveryDay && !v.EveryWeekday:
		return "", fmt.Errorf("EBB_SCHEDULE: in %q either the day of the month or the weekday is enough, which Amazon EventBridge cannot express: "+
			"restrict one of the two only, or have ebb manifest kubernetes, systemd or cloudrun start the runs", s)
	case !v.EveryDay:
		days = awsDialect.list(v.Days, nil)
	case !v.EveryWeekday:
		days, weekdays = "?", awsDialect.list(v.Weekdays, awsDialect.weekdays)
	}
	return fmt.Sprintf("cron(%s %s %s %s %s *)", awsDialect.clock(v.Minutes, 60), awsDialect.clock(v.Hours, 24), days, awsDialect.months(v.Months), weekdays), nil
}

// plain is the values, with a day field that has all of them as a star. Where both are restricted either is enough, so
// that with one such field every day will do.
func plain(s schedule.Schedule) schedule.Values {
	v := s.Values()
	allDays, allWeekdays := len(v.Days) == 31, len(v.Weekdays) == 7
	either := !v.EveryDay && !v.EveryWeekday && (allDays || allWeekdays)
	v.EveryDay = v.EveryDay || allDays || either
	v.EveryWeekday = v.EveryWeekday || allWeekdays || either
	return v
}

// clock writes a field that begins with 0 and has size values.
func (d dialect) clock(values []int, size int) string {
	if len(values) == size {
		return "*"
	}
	if n := len(values); n > 2 && values[0] == 0 {
		step := values[1]
		even := values[n-1]+step >= size
		for i, v := range values {
			even = even && v == i*step
		}
		if even {
			return d.step + strconv.Itoa(step)
		}
	}
	return d.list(values, nil)
}

func (d dialect) months(values []int) string {
	if len(values) == 12 {
		return "*"
	}
	return d.list(values, nil)
}

// list writes values as a field does; by name where there are names.
func (d dialect) list(values []int, names []string) string {
	return list(values, "-", func(v int) string {
		if names != nil {
			return names[v]
		}
		return strconv.Itoa(v)
	})
}
