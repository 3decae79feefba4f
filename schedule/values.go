package schedule

import "time"

// Values are what the five fields of a schedule come to, each in order: what another scheduler's own text is made from.
type Values struct {
	Minutes, Hours, Days, Months []int
	Weekdays                     []int // 0 is Sunday
	// EveryDay and EveryWeekday say that the day field is a star, which restricts nothing. Where both fields are
	// restricted, either is enough.
	EveryDay, EveryWeekday bool
}

// Values writes the fields out.
func (s Schedule) Values() Values {
	list := func(bits uint64, f field) (all []int) {
		for v := f.min; v <= f.max; v++ {
			if bits>>v&1 != 0 {
				all = append(all, v)
			}
		}
		return all
	}
	return Values{
		Minutes: list(s.spec.Minute, fields[minute]), Hours: list(s.spec.Hour, fields[hour]),
		Days: list(s.spec.Dom, fields[dayOfMonth]), Months: list(s.spec.Month, fields[month]),
		Weekdays: list(s.spec.Dow, fields[dayOfWeek]),
		EveryDay: isStar(s.spec.Dom), EveryWeekday: isStar(s.spec.Dow),
	}
}

// Meet is the first time in a window at which two of them fire at once. Schedulers that know only one line a trigger
// would start two runs then.
func (set Set) Meet(from, to time.Time) (at time.Time, ok bool) {
	fired := map[int64]bool{}
	for _, s := range set {
		for second := range s.fires(before(from), ceil(to)) {
			if ok && second >= at.Unix() {
				break
			}
			if fired[second] {
				at, ok = time.Unix(second, 0).In(set.zone()), true
				break
			}
			fired[second] = true
		}
	}
	return at, ok
}
