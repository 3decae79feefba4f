package schedule

import (
	"fmt"
	"math"
	"time"
)

// monthHours are those of the month that bills go by.
const monthHours = 730

// A Verdict is what schedules do to a compute.
type Verdict struct {
	From, To time.Time // the window
	Compute  Compute
	Run      time.Duration // how long a run takes

	Runs      int   // in the window
	Gaps      Gaps  // between runs
	Awake     []Gap // when the compute is awake, in the window
	AwakeTime time.Duration
	Share     float64 // of the window that it is awake: 0 to 1

	// Pauses is how often it pauses after a run of the window; Short is how often it does not until the next one.
	Pauses, Short int
	LongestShort  time.Duration // the longest of those gaps
	LongestPause  Gap           // also one that the window begins in; zero where there is none
}

// NeverSleeps says whether there is no pause at all.
func (v Verdict) NeverSleeps() bool { return v.Runs > 0 && v.Pauses == 0 }

// HoursAMonth is the awake time of a month of 730 hours.
func (v Verdict) HoursAMonth() float64 { return v.Share * monthHours }

// Cost is that of a month, where an awake hour has a price.
func (v Verdict) Cost(anHour float64) float64 { return v.HoursAMonth() * anHour }

// Verdict weighs the runs of a window against the compute's idle timeout. A run wakes a paused compute, which takes its
// resume; it is awake for the run, and until nothing has happened for the idle timeout, which the pause latency is added
// to. A run that begins before that is over, or at that very moment, finds it awake.
func (set Set) Verdict(c Compute, run time.Duration, from, to time.Time) Verdict {
	c.IdleTimeout, c.Resume, c.PauseLatency, run = max(0, c.IdleTimeout), max(0, c.Resume), max(0, c.PauseLatency), max(0, run)
	// What began before the window may reach into it.
	lead := ceil(from) - int64(math.Ceil((c.Resume + run + c.IdleTimeout + c.PauseLatency).Seconds())) - 1
	if last, ok := set.previous(before(from)); ok {
		lead = min(lead, last)
	}
	fires := set.fires(lead-1, ceil(to))
	return set.judge(fires, c, run, from, to)
}

func (set Set) judge(fires []int64, c Compute, run time.Duration, from, to time.Time) Verdict {
	v := Verdict{From: from, To: to, Compute: c, Run: run}
	zone := set.zone()
	at := func(milli int64) time.Time { return time.UnixMilli(milli).In(zone) }
	begin, finish := from.UnixMilli(), to.UnixMilli()
	rest := (run + c.IdleTimeout + c.PauseLatency).Milliseconds()
	var start, end int64 // of the awake time under way, in milliseconds
	keep := func() {
		if a, b := max(start, begin), min(end, finish); a < b {
			v.Awake = append(v.Awake, Gap{at(a), at(b)})
			v.AwakeTime += time.Duration(b-a) * time.Millisecond
		}
	}
	pause := func(a, b int64) {
		if v.LongestPause.From.IsZero() || time.Duration(b-a)*time.Millisecond > v.LongestPause.Length() {
			v.LongestPause = Gap{at(a), at(b)}
		}
	}
	inside := 0 // the first fire that is in the window
	for i, fire := range fires {
		f := fire * 1000
		if f < begin {
			inside = i + 1
		}
		switch paused := i == 0 || f > end; {
		case i == 0:
			start, end = f, f+c.Resume.Milliseconds()+rest
		case paused:
			keep()
			if i > inside {
				v.Pauses++
			}
			pause(end, f)
			start, end = f, f+c.Resume.Milliseconds()+rest
		default:
			if i > inside {
				v.Short++
				v.LongestShort = max(v.LongestShort, time.Duration(fire-fires[i-1])*time.Second)
			}
			end = max(end, f+rest)
		}
	}
	if len(fires) > 0 {
		keep()
	}
	fires = fires[inside:]
	v.Runs = len(fires)
	v.Gaps = set.gaps(fires, before(from))
	if next, ok := set.next(ceil(to) - 1); ok && v.Runs > 0 {
		if f := next * 1000; f > end {
			v.Pauses++
			pause(end, f)
		} else {
			v.Short++
			v.LongestShort = max(v.LongestShort, time.Duration(next-fires[len(fires)-1])*time.Second)
		}
	}
	if window := to.Sub(from); window > 0 {
		v.Share = float64(v.AwakeTime) / float64(window)
	}
	return v
}

// Warnings tells what there is to mend.
func (v Verdict) Warnings() (all []Warning) {
	say := func(k Kind, format string, args ...any) { all = append(all, Warning{k, fmt.Sprintf(format, args...)}) }
	timeout := v.Compute.IdleTimeout
	shortest := v.Gaps.Shortest.Length()
	switch {
	case v.Runs == 0:
	case v.NeverSleeps():
		say(KindAwake, "the compute never sleeps: no gap between runs is longer than the %s that it stays awake after one begins (idle timeout %s, longest gap %s)",
			Length(v.stays()), Length(timeout), Length(v.Gaps.Longest.Length()))
	case v.Short > 0:
		say(KindShort, "the compute cannot pause in %d of %d gaps, of up to %s (idle timeout %s): it is awake %s of the time",
			v.Short, v.Short+v.Pauses, Length(v.LongestShort), Length(timeout), Percent(v.Share))
	case shortest < 2*timeout:
		say(KindNarrow, "the shortest gap, %s, is under twice the idle timeout of %s: the compute is awake %s of the time",
			Length(shortest), Length(timeout), Percent(v.Share))
	}
	if shortest > 0 && v.Run > shortest {
		say(KindOverlap, "a run of %s is longer than the shortest gap, %s", Length(v.Run), Length(shortest))
	}
	if c := v.Compute; c.Least > 0 && timeout < c.Least || c.Most > 0 && timeout > c.Most {
		say(KindTimeout, "%s allows idle timeouts from %s to %s, not %s", c.Name, Length(c.Least), Length(c.Most), Length(timeout))
	}
	return all
}

// stays is how long the compute is awake after a run that found it so began.
func (v Verdict) stays() time.Duration { return v.Run + v.Compute.IdleTimeout + v.Compute.PauseLatency }
