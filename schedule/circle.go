package schedule

import "time"

// A dayAsleep says of every second of an average day how often the compute was asleep then; what it holds is the sum up
// to each second.
type dayAsleep []int

// asleep adds up a verdict's days in a zone.
func asleep(v Verdict, zone *time.Location) dayAsleep {
	covered := make([]int, aDay+1)
	days := int(v.To.Sub(v.From)/(24*time.Hour)) + 1
	cover := func(from, to int) {
		covered[from]++
		covered[to]--
	}
	whole := 0
	for _, g := range v.Awake {
		length := int(g.Length() / time.Second)
		h, m, s := g.From.In(zone).Clock()
		from := h*anHour + m*aMinute + s
		whole += length / aDay
		if to := from + length%aDay; to <= aDay {
			cover(from, to)
		} else {
			cover(from, aDay)
			cover(0, to-aDay)
		}
	}
	sum := make(dayAsleep, aDay+1)
	n := whole
	for i := range aDay {
		n += covered[i]
		sum[i+1] = sum[i] + max(0, days-n)
	}
	return sum
}

// hour adds up the hours of the day.
func (d dayAsleep) hour() dayAsleep {
	sum := make(dayAsleep, anHour+1)
	for i := range anHour {
		for h := range 24 {
			sum[i+1] += d[h*anHour+i+1] - d[h*anHour+i]
		}
		sum[i+1] += sum[i]
	}
	return sum
}

// A circle is a day, or an hour, of which a run makes so many seconds awake.
type circle struct {
	asleep dayAsleep
	stays  int
}

// round is how many seconds it has.
func (c circle) round() int { return len(c.asleep) - 1 }

// cost is what a run adds to the awake time until the next one.
func (c circle) cost(at, gap int) int {
	length := min(c.stays, gap)
	turns, from, to := length/c.round(), at%c.round(), at%c.round()+length%c.round()
	cost := turns * c.asleep[c.round()]
	if to <= c.round() {
		return cost + c.asleep[to] - c.asleep[from]
	}
	return cost + c.asleep[c.round()] - c.asleep[from] + c.asleep[to-c.round()]
}

// A tour is runs around the circle, and what they cost: awake seconds first, then their number, then their unevenness.
type tour struct {
	at                  []int
	cost, runs, squares int
}

func (t tour) less(u tour) bool {
	switch {
	case t.cost != u.cost:
		return t.cost < u.cost
	case t.runs != u.runs:
		return t.runs < u.runs
	}
	return t.squares < u.squares
}

// cheapest finds the cheapest tour over some of these times, none more than the longest gap after the one before it. There
// is none, and at is nil, where the times themselves are further apart.
func (c circle) cheapest(times []int, longest int) (best tour) {
	n := len(times)
	at := func(i int) int { return times[i%n] + i/n*c.round() }
	reach := make([]tour, n+1) // to each time from the first one of a tour
	from := make([]int, n+1)
	for first := 0; first < n && times[first] < times[0]+longest; first++ {
		reach[0] = tour{}
		for i := 1; i <= n; i++ {
			found := false
			for j := i - 1; j >= 0; j-- {
				gap := at(first+i) - at(first+j)
				if gap > longest {
					break
				}
				if j > 0 && from[j] < 0 {
					continue
				}
				t := reach[j]
				t.cost += c.cost(at(first+j), gap)
				t.runs++
				t.squares += gap / 60 * (gap / 60)
				if !found || t.less(reach[i]) {
					reach[i], from[i], found = t, j, true
				}
			}
			if !found {
				from[i] = -1
			}
		}
		if from[n] < 0 || best.at != nil && !reach[n].less(best) {
			continue
		}
		best = reach[n]
		best.at = nil
		for i := n; i > 0; i = from[i] {
			best.at = append(best.at, at(first+from[i])%c.round())
		}
	}
	return best
}
