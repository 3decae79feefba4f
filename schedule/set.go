package schedule

import (
	"slices"
	"strings"
	"time"
)

// A Set is schedules that wake the same compute. Where several fire at once that is one time.
type Set []Schedule

// String has a schedule a line.
func (set Set) String() string {
	var lines []string
	for _, s := range set {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}

// In gives another zone to those whose text names none.
func (set Set) In(zone *time.Location) Set {
	moved := make(Set, len(set))
	for i, s := range set {
		moved[i] = s.In(zone)
	}
	return moved
}

// WithZones names the zone in the text of each that is in another one than UTC.
func (set Set) WithZones() Set {
	all := slices.Clone(set)
	for i, s := range all {
		if zone, named := s.Zone(); !named && zone != time.UTC {
			all[i].text, all[i].named = "CRON_TZ="+zone.String()+" "+s.five, true
		}
	}
	return all
}

// zone is where times of the set are told: in the first one's zone.
func (set Set) zone() *time.Location {
	if len(set) == 0 {
		return time.UTC
	}
	zone, _ := set[0].Zone()
	return zone
}

// Next is the first time of any of them after a given one, in the first one's zone.
func (set Set) Next(after time.Time) (next time.Time, ok bool) {
	at, ok := set.next(after.Unix())
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(at, 0).In(set.zone()), true
}

func (set Set) next(after int64) (first int64, ok bool) {
	for _, s := range set {
		for at := range s.fires(after, never) {
			if !ok || at < first {
				first, ok = at, true
			}
			break
		}
	}
	return first, ok
}

// previous is the last time that is not after a second.
func (set Set) previous(at int64) (last int64, ok bool) {
	for _, back := range []int64{2 * aDay, 40 * aDay, 400 * aDay, 3300 * aDay} {
		if fires := set.fires(at-back, at+1); len(fires) > 0 {
			return fires[len(fires)-1], true
		}
	}
	return 0, false
}

// Between gives all times of them from one time to before another, in the first one's zone.
func (set Set) Between(from, to time.Time) []time.Time {
	fires := set.fires(before(from), ceil(to))
	all := make([]time.Time, len(fires))
	for i, at := range fires {
		all[i] = time.Unix(at, 0).In(set.zone())
	}
	return all
}

// fires is the union, in order.
func (set Set) fires(after, until int64) (all []int64) {
	for i, s := range set {
		fires := slices.Collect(s.fires(after, until))
		if i == 0 {
			all = fires
			continue
		}
		all = merge(all, fires)
	}
	return all
}

// merge puts two ordered lists together; what is in both is there once.
func merge(a, b []int64) []int64 {
	all := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			all, a = append(all, a[0]), a[1:]
		case b[0] < a[0]:
			all, b = append(all, b[0]), b[1:]
		default:
			all, a, b = append(all, a[0]), a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}
