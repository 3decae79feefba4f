package schedule

import (
	"slices"
	"time"
)

// A History is how real runs compare with what schedules say.
type History struct {
	From, To  time.Time // the first and the last run
	Runs      int
	Gaps      Gaps        // between real runs
	Scheduled int         // times from the first to the last run
	Missed    []time.Time // those at which none began
	Stray     []time.Time // runs that began at none
}

const (
	// early and late are how far from its time a run may begin.
	early = 30 * time.Second
	late  = 5 * time.Minute
)

// Compare holds the times at which runs began against the schedules. A run belongs to the last time that is not later
// than it by more than thirty seconds, if it began within five minutes of it.
func (set Set) Compare(starts []time.Time) History {
	starts = slices.Clone(starts)
	slices.SortFunc(starts, time.Time.Compare)
	h := History{Runs: len(starts)}
	if len(starts) == 0 {
		return h
	}
	h.From, h.To = starts[0], starts[len(starts)-1]
	for i := 1; i < len(starts); i++ {
		g := Gap{starts[i-1], starts[i]}
		if h.Gaps.Count == 0 || g.Length() < h.Gaps.Shortest.Length() {
			h.Gaps.Shortest = g
		}
		if g.Length() > h.Gaps.Longest.Length() {
			h.Gaps.Longest = g
		}
		h.Gaps.Count++
	}
	times := set.Between(h.From.Add(-late), h.To.Add(early+1)) // its end is no part of it
	met := make([]bool, len(times))
	for _, start := range starts {
		i, found := slices.BinarySearchFunc(times, start.Add(early), time.Time.Compare)
		if !found {
			i--
		}
		if i < 0 || start.Sub(times[i]) > late {
			h.Stray = append(h.Stray, start)
			continue
		}
		met[i] = true
	}
	for i, at := range times {
		switch {
		case met[i]:
			h.Scheduled++
		case !at.Before(h.From):
			h.Scheduled++
			h.Missed = append(h.Missed, at)
		}
	}
	return h
}
