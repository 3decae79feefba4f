package schedule

import "time"

// A Gap is the time between two runs.
type Gap struct{ From, To time.Time }

// Length is how long it really is: an hour that clocks skip is no part of it.
func (g Gap) Length() time.Duration { return g.To.Sub(g.From) }

// Gaps are those between runs.
type Gaps struct {
	Count             int
	Shortest, Longest Gap // the first of several that are as long
}

// Horizon is how far one must look to see every gap that there is: a year for the seasons and the changes of clocks, nine
// years where a schedule fires on 29 February.
func (set Set) Horizon(from time.Time) time.Time {
	for _, s := range set {
		if s.meansLeapDay() {
			return from.AddDate(9, 0, 0)
		}
	}
	return from.AddDate(1, 0, 0)
}

// meansLeapDay says whether 29 February is among its days for its date.
func (s Schedule) meansLeapDay() bool {
	return s.spec.Month>>2&1 != 0 && s.spec.Dom>>29&1 != 0 && !isStar(s.spec.Dom) && isStar(s.spec.Dow)
}

// Gaps finds the shortest and the longest gap by going from run to run, beginning with the last one before the window
// and ending with the first one after it.
//
// Steps do not tell: */45 has gaps of 45 and of 15 minutes, and a daily run one of 47 hours where clocks go forward over
// its time.
func (set Set) Gaps(from, to time.Time) Gaps {
	return set.gaps(set.fires(before(from), ceil(to)), before(from))
}

// gaps are those between the fires of a window, which begins after a second, and up to the next one.
func (set Set) gaps(fires []int64, after int64) (g Gaps) {
	if first, ok := set.previous(after); ok {
		fires = append([]int64{first}, fires...)
	} else if first, ok := set.next(after); ok && len(fires) == 0 {
		fires = []int64{first}
	}
	if len(fires) > 0 {
		if next, ok := set.next(max(after, fires[len(fires)-1])); ok {
			fires = append(fires, next)
		}
	}
	var shortest, longest int
	for i := range max(0, len(fires)-1) {
		length := fires[i+1] - fires[i]
		if length < fires[shortest+1]-fires[shortest] {
			shortest = i
		}
		if length > fires[longest+1]-fires[longest] {
			longest = i
		}
		g.Count++
	}
	if g.Count > 0 {
		gap := func(i int) Gap {
			return Gap{time.Unix(fires[i], 0).In(set.zone()), time.Unix(fires[i+1], 0).In(set.zone())}
		}
		g.Shortest, g.Longest = gap(shortest), gap(longest)
	}
	return g
}
