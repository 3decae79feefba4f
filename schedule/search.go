package schedule

import (
	"fmt"
	"math"
	"time"
)

// A search looks for a proposal.
type search struct {
	others  Set
	fires   []int64 // of the others
	latency time.Duration
	compute Compute
	run     time.Duration
	from,
	to time.Time
}

// stays is how many seconds a run keeps the compute awake.
func (s search) stays() int {
	return int(math.Ceil((s.compute.Resume + s.run + s.compute.IdleTimeout + s.compute.PauseLatency).Seconds()))
}

// with is what the compute does for the others and these lines.
func (s search) with(lines Set) Verdict {
	after := before(s.from) - int64(s.stays())
	all := append(append(Set{}, s.others...), lines...)
	return all.judge(merge(s.fires, lines.fires(after, ceil(s.to))), s.compute, s.run, s.from, s.to)
}

// candidates are the best lines of each kind, as far as an average day tells.
func (s search) candidates(zone *time.Location, alone Verdict) (all []Set) {
	d := asleep(alone, zone)
	add := func(lines ...string) {
		set := make(Set, 0, len(lines))
		for _, line := range lines {
			if zone != time.UTC {
				line = "CRON_TZ=" + zone.String() + " " + line
			}
			parsed, err := Parse(line)
			if err != nil {
				return // a zone without a name that could be written down
			}
			set = append(set, parsed)
		}
		all = append(all, set)
	}
	minutes := int(s.latency / time.Minute)
	if minutes < 60 {
		best := circle{d.hour(), s.stays()}.cheapest(every(60, 60), minutes*60)
		add(minuteField(best.at) + " * * * *")
		return all
	}
	day := circle{d, s.stays()}
	shared := [60]bool{} // minutes at which others run
	for _, at := range s.fires {
		shared[time.Unix(at, 0).In(zone).Minute()] = true
	}
	var one, two tour
	for m := range 60 {
		if t := day.cheapest(nodes(m), minutes*60); one.at == nil || t.less(one) {
			one = t
		}
		for n := m + 1; n < 60 && minutes < 24*60; n++ {
			if minutes > 4*60 && !(shared[m] && shared[n]) {
				continue // it would take seconds
			}
			if t := day.cheapest(nodes(m, n), minutes*60); two.at == nil || t.less(two) {
				two = t
			}
		}
	}
	add(lines(one.at)...)
	if two.at != nil {
		add(lines(two.at)...)
	}
	if n := minutes / (24 * 60); n > 1 {
		at := one.at[0]
		clock := fmt.Sprintf("%d %d", at/60%60, at/3600)
		add(fmt.Sprintf("%s */%d * *", clock, min(n, 15)))
		for weekday := range 7 {
			if n >= 7 {
				add(fmt.Sprintf("%s * * %d", clock, weekday))
			}
		}
		if n >= 31 {
			add(clock + " 1 * *")
		}
	}
	return all
}

// every gives n times of a circle of as many minutes, in seconds.
func every(n, minutes int) (at []int) {
	for i := range n {
		at = append(at, i*minutes/n*60)
	}
	return at
}

// nodes are the times of a day at these minutes of each hour, which are in order.
func nodes(minutes ...int) (at []int) {
	for h := range 24 {
		for _, m := range minutes {
			at = append(at, h*3600+m*60)
		}
	}
	return at
}
