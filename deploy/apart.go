package deploy

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// weekdayCycle is how many years it takes until every date has been on every weekday, in leap years too.
const weekdayCycle = 28

// apart refuses lines of which two fire at once, for a platform on which each is a trigger of its own.
func apart(set schedule.Set, from time.Time, each string) error {
	for i := range set {
		for j := range i {
			pair := schedule.Set{set[j], set[i]}
			if neverMeet(pair) {
				continue
			}
			for year := range weekdayCycle {
				if at, _, _, meet := pair.Meet(from.AddDate(year, 0, 0), from.AddDate(year+1, 0, 0)); meet {
					return fmt.Errorf("each line of EBB_SCHEDULE is %s, and line %d (%s) and line %d (%s) both fire at %s, which would start two runs: "+
						"write them as one line, or move one by as many minutes as a run may take", each, j+1, pair[0], i+1, pair[1], at.Format(stamp))
				}
			}
		}
	}
	return nil
}

// neverMeet sees at a glance that two lines cannot fire at once.
func neverMeet(pair schedule.Set) bool {
	a, b := pair[0].Values(), pair[1].Values()
	zoneA, _ := pair[0].Zone()
	zoneB, _ := pair[1].Zone()
	return zoneA.String() == zoneB.String() && (disjoint(a.Minutes, b.Minutes) || disjoint(a.Hours, b.Hours) || disjoint(a.Months, b.Months))
}

func disjoint(a, b []int) bool {
	return !slices.ContainsFunc(a, func(v int) bool { return slices.Contains(b, v) })
}
