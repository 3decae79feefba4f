package schedule

import (
	"testing"
	"time"
)

// Of several gaps that are as long, the first is named.
func TestFirstOfEqualGaps(t *testing.T) {
	g := set(t, "0 * * * *").Gaps(at(t, "2026-01-01T00:00:00Z"), at(t, "2026-01-02T00:00:00Z"))
	if want := at(t, "2025-12-31T23:00:00Z"); !g.Longest.From.Equal(want) || !g.Shortest.From.Equal(want) {
		t.Errorf("%+v", g)
	}
}

// A run that began just in time belongs to its time, and one that began a second later to none.
func TestRunAtTheEdgeOfItsTime(t *testing.T) {
	first := at(t, "2026-01-01T00:00:00Z")
	for after, stray := range map[time.Duration]int{late: 0, late + time.Second: 1, time.Hour - early: 0, time.Hour - early - time.Second: 1} {
		h := set(t, "0 * * * *").Compare([]time.Time{first, first.Add(after)})
		if len(h.Stray) != stray {
			t.Errorf("%v after a time: %v", after, h.Stray)
		}
	}
}
