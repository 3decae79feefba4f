package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// print writes the plan for people.
func (r planJSON) print(to paper) error {
	pl := r.plan
	to.wrapped("compute  ", "", pl.computeText())
	to.wrapped("runs     ", "", fmt.Sprintf("of %s (%s)", schedule.Length(pl.run), map[origin]string{
		named: "as given", history: "the mean of real ones", assumed: "assumed; --run-time says another"}[pl.runFrom]))
	to.wrapped("window   ", "", fmt.Sprintf("%s to %s", r.From.Format(time.RFC3339), r.Until.Format(time.RFC3339)))
	for i, s := range r.Schedules {
		to.line("")
		to.line("%s", to.colour(bold, s.Schedule))
		zone := s.Zone
		if _, isNamed := pl.set[i].Zone(); !isNamed {
			zone += " (" + s.ZoneFrom + ")"
		}
		to.line("  zone     %s", zone)
		to.times("  next     ", s.Next)
		r.verdict(to, s.verdictJSON)
	}
	if len(r.Schedules) > 1 {
		to.line("")
		to.line("%s", to.colour(bold, "together"))
		r.verdict(to, r.Together)
	}
	r.printProposal(to)
	r.printHistory(to)
	to.line("")
	r.picture(to)
	return *to.err
}

func (pl plan) computeText() string {
	name := "unknown"
	if pl.compute.Name != "" {
		name = pl.compute.Name
	}
	switch pl.compute.Family {
	case schedule.Activity:
		name += ", kept awake by activity"
	case schedule.Connections:
		name += ", kept awake by any connection, however idle"
	}
	from := map[origin]string{named: "as given", preset: "the preset's", assumed: "assumed; EBB_IDLE_TIMEOUT says another"}
	text := fmt.Sprintf("%s; idle timeout %s (%s), resume %s", name, schedule.Length(pl.compute.IdleTimeout), from[pl.timeoutFrom], pl.compute.Resume)
	if pl.resumeFrom == assumed {
		text += " (assumed)"
	}
	if pl.compute.PauseLatency > 0 {
		text += fmt.Sprintf(", paused up to %s later", schedule.Length(pl.compute.PauseLatency))
	}
	return text
}

// verdict prints gaps, awake time and warnings.
func (r planJSON) verdict(to paper, v verdictJSON) {
	if v.Shortest != nil {
		text := "always " + length(v.Shortest.Seconds)
		if v.Shortest.Seconds != v.Longest.Seconds {
			text = fmt.Sprintf("%s to %s, the longest from %s", length(v.Shortest.Seconds), length(v.Longest.Seconds), v.Longest.From.Format("2006-01-02 15:04 -07:00"))
		}
		to.wrapped("  gaps     ", "", text)
	}
	text := fmt.Sprintf("%s of the time, %.1f h a month", schedule.Percent(v.AwakeShare), v.HoursAMonth)
	if v.CostAMonth != nil {
		text += fmt.Sprintf(", which cost %.2f", *v.CostAMonth)
	}
	if v.LongestPauseS > 0 {
		text += fmt.Sprintf("; the longest pause is %s", length(v.LongestPauseS))
	}
	to.wrapped("  awake    ", "", text)
	for _, w := range v.Warnings {
		colour := yellow
		if w.Kind == schedule.KindAwake {
			colour = red
		}
		to.wrapped("  warning  ", colour, w.Text)
	}
}

func length(seconds float64) string {
	return schedule.Length(time.Duration(seconds * float64(time.Second)))
}

// times prints as many in a line as there is room for.
func (to paper) times(heading string, times []time.Time) {
	const form = "Mon 2006-01-02 15:04 -07:00"
	a := max(1, (to.width-len(heading)+3)/(len(form)+3))
	for i := 0; i < len(times); i += a {
		var texts []string
		for _, t := range times[i:min(i+a, len(times))] {
			texts = append(texts, t.Format(form))
		}
		to.line("%s%s", heading, strings.Join(texts, "   "))
		heading = strings.Repeat(" ", len(heading))
	}
}

func (r planJSON) printProposal(to paper) {
	p := r.Proposal
	if p == nil {
		return
	}
	to.line("")
	heading := "proposed for a latency of " + length(p.LatencyS)
	if len(r.Schedules) > 0 {
		heading += ", besides the above"
	}
	to.line("%s", to.colour(bold, heading))
	for _, s := range p.Schedules {
		to.line("  EBB_SCHEDULE  %s", s)
	}
	r.verdict(to, p.Together)
	compare := func(what string, hours float64) {
		saves := hours - p.Together.HoursAMonth
		text := fmt.Sprintf("%.1f h a month less than with %s, %.1f h", saves, what, hours)
		if saves < 0.05 {
			text = fmt.Sprintf("nothing against %s, %.1f h", what, hours)
		} else if cost := r.plan.cost(saves); cost != nil {
			text = fmt.Sprintf("%.1f h and %.2f a month less than with %s, %.1f h", saves, *cost, what, hours)
		}
		to.wrapped("  saves    ", "", text)
	}
	compare("the plain "+p.Naive, p.NaiveHours)
	if p.CurrentHours != nil {
		compare("EBB_SCHEDULE as it is", *p.CurrentHours)
	}
}

func (r planJSON) printHistory(to paper) {
	h := r.History
	if h == nil {
		return
	}
	to.line("")
	to.line("%s", to.colour(bold, "real runs"))
	if h.Runs == 0 {
		to.line("  none yet")
		return
	}
	text := fmt.Sprintf("%d from %s to %s", h.Runs, h.From.Format(time.RFC3339), h.To.Format(time.RFC3339))
	if h.MeanS != nil {
		text += fmt.Sprintf("; %s in the mean, %s at most", roughly(*h.MeanS), roughly(*h.LongestS))
	}
	to.wrapped("  runs     ", "", text)
	if h.Shortest != nil {
		text := fmt.Sprintf("%s to %s, the longest from %s", length(h.Shortest.Seconds), length(h.Longest.Seconds), h.Longest.From.Format(time.RFC3339))
		if v := r.Together; v.Shortest != nil {
			text += fmt.Sprintf("; by the schedule %s to %s", length(v.Shortest.Seconds), length(v.Longest.Seconds))
		}
		to.wrapped("  gaps     ", "", text)
	}
	if len(r.Schedules) == 0 && len(r.plan.current) == 0 {
		return
	}
	if len(h.Missed) > 0 {
		to.wrapped("  missed   ", yellow, fmt.Sprintf("%d of %s of the schedule had no run within five minutes: %s", len(h.Missed), plural(h.Scheduled, "time"), someOf(h.Missed)))
	}
	if len(h.Stray) > 0 {
		to.wrapped("  stray    ", yellow, fmt.Sprintf("%d of %s began at no time of the schedule: %s", len(h.Stray), plural(h.Runs, "run"), someOf(h.Stray)))
	}
	if len(h.Missed)+len(h.Stray) == 0 {
		to.wrapped("  schedule ", "", "every run began at its time")
	}
}

// roughly says a short time with a tenth of a second.
func roughly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return schedule.Length(d)
}

func someOf(times []time.Time) string {
	const most = 3
	var texts []string
	for _, t := range times[:min(most, len(times))] {
		texts = append(texts, t.Format("2006-01-02 15:04:05Z07:00"))
	}
	text := strings.Join(texts, ", ")
	if n := len(times) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
