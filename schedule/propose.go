package schedule

import (
	"fmt"
	"time"
)

// A Proposal is the cheapest schedule that keeps a latency, next to schedules that wake the compute anyway.
type Proposal struct {
	Lines   Set           // one line, or two where one would cost clearly more
	Latency time.Duration // the longest gap between its runs is no longer

	Alone    Verdict // what the compute does for the others alone; no runs where there are none
	Together Verdict // with the proposal

	// The naive line is the plain step that keeps the latency: for an hour 0 * * * *.
	Naive         Schedule
	NaiveTogether Verdict
}

// Saves is how many hours a month less than with the naive line the compute is awake.
func (p Proposal) Saves() float64 { return p.NaiveTogether.HoursAMonth() - p.Together.HoursAMonth() }

// Propose looks for the schedule with which the compute is awake least, among those that have no gap longer than the
// latency: lines with any minutes in every hour, any hours with one minute or two, or, for latencies of days, days. What
// the other schedules keep awake costs nothing, so their minutes are shared where that helps.
//
// The lines are in UTC, or where all of the others are in one zone, in that zone if it saves something there and no
// change of clocks makes a gap too long.
func Propose(others Set, latency time.Duration, c Compute, run time.Duration, from time.Time) (Proposal, error) {
	if latency < time.Minute {
		return Proposal{}, fmt.Errorf("a latency of %s: cron lines know nothing shorter than 1m", Length(latency))
	}
	latency = latency.Truncate(time.Minute)
	to := others.Horizon(from)
	search := search{others: others, latency: latency, compute: c, run: run, from: from, to: to}
	search.fires = others.fires(before(from)-int64(search.stays()), ceil(to))
	p := Proposal{Latency: latency, Naive: naive(latency)}
	p.Alone = others.judge(search.fires, c, run, from, to)
	p.NaiveTogether = search.with(Set{p.Naive})

	found := false
	zones := []*time.Location{time.UTC}
	if zone := others.oneZone(); zone != nil && zone != time.UTC {
		zones = append(zones, zone)
	}
	for _, zone := range zones {
		for _, lines := range search.candidates(zone, p.Alone) {
			if lines.Gaps(from, lines.Horizon(from)).Longest.Length() > latency {
				continue
			}
			v := search.with(lines)
			if !found || better(lines, v, p.Lines, p.Together) {
				p.Lines, p.Together, found = lines, v, true
			}
		}
	}
	if !found || better(Set{p.Naive}, p.NaiveTogether, p.Lines, p.Together) {
		p.Lines, p.Together = Set{p.Naive}, p.NaiveTogether
	}
	return p, nil
}

// better says whether a proposal is to be taken instead of another one: a second line must earn its keep.
func better(a Set, v Verdict, b Set, w Verdict) bool {
	costA, costB := v.Share*(1+0.01*float64(len(a))), w.Share*(1+0.01*float64(len(b)))
	if diff := costA - costB; diff < -1e-4*costB || diff > 1e-4*costB {
		return diff < 0
	}
	return v.Runs < w.Runs
}

// naive is the plain line that keeps a latency.
func naive(latency time.Duration) Schedule {
	minutes := int(latency / time.Minute)
	text := "0 0 * * *"
	switch {
	case minutes < 60:
		step := divisor(60, minutes)
		text = fmt.Sprintf("*/%d * * * *", step)
		if step == 1 {
			text = "* * * * *"
		}
	case minutes < 24*60:
		step := divisor(24, minutes/60)
		text = fmt.Sprintf("0 */%d * * *", step)
		if step == 1 {
			text = "0 * * * *"
		}
	}
	s, err := Parse(text)
	if err != nil {
		panic(err) // these few are known to be good
	}
	return s
}

// divisor is the largest one of n that is no more than most.
func divisor(n, most int) int {
	for most > 1 && n%most != 0 {
		most--
	}
	return max(1, most)
}

// oneZone is the zone that all have, or nil.
func (set Set) oneZone() (zone *time.Location) {
	for _, s := range set {
		z, _ := s.Zone()
		if zone != nil && z.String() != zone.String() {
			return nil
		}
		zone = z
	}
	return zone
}
