package cli

import (
	"encoding/json"
	"io"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// A planJSON is what plan --json prints. Times are in the zone of their schedule.
type planJSON struct {
	From      time.Time      `json:"from"`
	Until     time.Time      `json:"until"` // of the window that all figures are of
	Compute   computeJSON    `json:"compute"`
	RunS      float64        `json:"run_seconds"`
	RunFrom   origin         `json:"run_from"`
	Schedules []scheduleJSON `json:"schedules"`
	Together  verdictJSON    `json:"together"`
	Day       []rowJSON      `json:"day"`
	Proposal  *proposalJSON  `json:"proposal"`
	History   *historyJSON   `json:"history"`

	plan plan
	rows []row
}

type computeJSON struct {
	Name          *string         `json:"name"`
	Family        schedule.Family `json:"family"` // empty where it is not known
	IdleTimeoutS  float64         `json:"idle_timeout_seconds"`
	TimeoutFrom   origin          `json:"idle_timeout_from"`
	Assumed       bool            `json:"idle_timeout_assumed"`
	ResumeS       float64         `json:"resume_seconds"`
	ResumeFrom    origin          `json:"resume_from"`
	PauseLatencyS float64         `json:"pause_latency_seconds"`
}

type scheduleJSON struct {
	Schedule string      `json:"schedule"`
	Zone     string      `json:"zone"`
	ZoneFrom string      `json:"zone_from"`
	Next     []time.Time `json:"next"`
	verdictJSON
}

type verdictJSON struct {
	Runs          int           `json:"runs"`
	Shortest      *gapJSON      `json:"shortest_gap"`
	Longest       *gapJSON      `json:"longest_gap"`
	AwakeShare    float64       `json:"awake_share"`
	HoursAMonth   float64       `json:"awake_hours_a_month"`
	CostAMonth    *float64      `json:"cost_a_month"`
	LongestPauseS float64       `json:"longest_pause_seconds"`
	NeverSleeps   bool          `json:"never_sleeps"`
	Warnings      []warningJSON `json:"warnings"`
}

type gapJSON struct {
	Seconds float64   `json:"seconds"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
}

type warningJSON struct {
	Kind schedule.Kind `json:"kind"`
	Text string        `json:"text"`
}

// A rowJSON is a row of the picture.
type rowJSON struct {
	Label string       `json:"label"`
	Awake [][2]float64 `json:"awake_hours"` // from and to, since the day began
}

type proposalJSON struct {
	Schedules    []string    `json:"schedules"`
	LatencyS     float64     `json:"max_latency_seconds"`
	Together     verdictJSON `json:"together"` // with the schedules given
	Naive        string      `json:"naive"`
	NaiveHours   float64     `json:"naive_awake_hours_a_month"`
	SavesHours   float64     `json:"saves_hours_a_month"`
	SavesCost    *float64    `json:"saves_cost_a_month"`
	Current      []string    `json:"current"` // EBB_SCHEDULE
	CurrentHours *float64    `json:"current_awake_hours_a_month"`

	proposal schedule.Proposal
}

type historyJSON struct {
	Runs      int         `json:"runs"`
	From      *time.Time  `json:"from"`
	To        *time.Time  `json:"to"`
	MeanS     *float64    `json:"mean_run_seconds"`
	LongestS  *float64    `json:"longest_run_seconds"`
	Shortest  *gapJSON    `json:"shortest_gap"`
	Longest   *gapJSON    `json:"longest_gap"`
	Scheduled int         `json:"scheduled"`
	Missed    []time.Time `json:"missed"` // times of the schedule at which no run began
	Stray     []time.Time `json:"stray"`  // runs that began at no time of the schedule
}

// report weighs the plan.
func (pl *plan) report() (planJSON, error) {
	to := pl.set.Horizon(pl.from)
	pl.together = pl.set.Verdict(pl.compute, pl.run, pl.from, to)
	r := planJSON{From: pl.from, Until: to, RunS: pl.run.Seconds(), RunFrom: pl.runFrom, Schedules: []scheduleJSON{},
		Compute: computeJSON{Family: pl.compute.Family, IdleTimeoutS: pl.compute.IdleTimeout.Seconds(), TimeoutFrom: pl.timeoutFrom,
			Assumed: pl.timeoutFrom == assumed, ResumeS: pl.compute.Resume.Seconds(), ResumeFrom: pl.resumeFrom,
			PauseLatencyS: pl.compute.PauseLatency.Seconds()}}
	if pl.compute.Name != "" {
		r.Compute.Name = &pl.compute.Name
	}
	for _, s := range pl.set {
		zone, isNamed := s.Zone()
		row := scheduleJSON{Schedule: s.String(), Zone: zone.String(), ZoneFrom: pl.zoneFrom, Next: []time.Time{}}
		if isNamed {
			row.ZoneFrom = "named"
		}
		at := pl.from.Add(-1)
		for range pl.runs {
			next, ok := s.Next(at)
			if !ok {
				break
			}
			row.Next, at = append(row.Next, next), next
		}
		alone := schedule.Set{s}
		row.verdictJSON = pl.verdict(alone.Verdict(pl.compute, pl.run, pl.from, to))
		said := []warningJSON{}
		for _, w := range s.Warnings(pl.from, to) {
			said = append(said, warningJSON{w.Kind, w.Text})
		}
		if len(pl.set) == 1 {
			said = append(said, row.Warnings...)
		}
		row.Warnings = said
		r.Schedules = append(r.Schedules, row)
	}
	r.Together = pl.verdict(pl.together)
	if pl.latency > 0 {
		proposal, err := pl.propose()
		if err != nil {
			return r, err
		}
		r.Proposal = proposal
	}
	r.History = pl.historyReport()
	r.plan = *pl
	r.drawn()
	return r, nil
}

func (pl *plan) verdict(v schedule.Verdict) verdictJSON {
	r := verdictJSON{Runs: v.Runs, AwakeShare: v.Share, HoursAMonth: v.HoursAMonth(), CostAMonth: pl.cost(v.HoursAMonth()),
		LongestPauseS: v.LongestPause.Length().Seconds(), NeverSleeps: v.NeverSleeps(), Warnings: []warningJSON{}}
	if v.Gaps.Count > 0 {
		r.Shortest, r.Longest = gapOf(v.Gaps.Shortest), gapOf(v.Gaps.Longest)
	}
	for _, w := range v.Warnings() {
		r.Warnings = append(r.Warnings, warningJSON{w.Kind, w.Text})
	}
	return r
}

func (pl *plan) cost(hours float64) *float64 {
	if pl.price == nil {
		return nil
	}
	cost := hours * *pl.price
	return &cost
}

func gapOf(g schedule.Gap) *gapJSON { return &gapJSON{g.Length().Seconds(), g.From, g.To} }

func (pl *plan) propose() (*proposalJSON, error) {
	p, err := schedule.Propose(pl.set, pl.latency, pl.compute, pl.run, pl.from)
	if err != nil {
		return nil, err
	}
	r := &proposalJSON{LatencyS: pl.latency.Seconds(), Together: pl.verdict(p.Together), Naive: p.Naive.String(),
		NaiveHours: p.NaiveTogether.HoursAMonth(), SavesHours: p.Saves(), SavesCost: pl.cost(p.Saves()), Current: []string{}, proposal: p}
	for _, s := range p.Lines {
		r.Schedules = append(r.Schedules, s.String())
	}
	if len(pl.current) > 0 {
		all := append(append(schedule.Set{}, pl.set...), pl.current...)
		hours := all.Verdict(pl.compute, pl.run, pl.from, all.Horizon(pl.from)).HoursAMonth()
		r.CurrentHours = &hours
		for _, s := range pl.current {
			r.Current = append(r.Current, s.String())
		}
	}
	return r, nil
}

func (pl *plan) historyReport() *historyJSON {
	if pl.history == nil {
		return nil
	}
	h := pl.history
	utc := func(times []time.Time) []time.Time {
		all := []time.Time{}
		for _, t := range times {
			all = append(all, t.UTC())
		}
		return all
	}
	r := &historyJSON{Runs: h.Runs, Scheduled: h.Scheduled, Missed: utc(h.Missed), Stray: utc(h.Stray)}
	if h.Runs > 0 {
		from, to := h.From.UTC(), h.To.UTC()
		r.From, r.To = &from, &to
	}
	if h.Gaps.Count > 0 {
		r.Shortest = gapOf(schedule.Gap{From: h.Gaps.Shortest.From.UTC(), To: h.Gaps.Shortest.To.UTC()})
		r.Longest = gapOf(schedule.Gap{From: h.Gaps.Longest.From.UTC(), To: h.Gaps.Longest.To.UTC()})
	}
	if pl.historyRun != nil {
		mean, longest := pl.historyRun.mean.Seconds(), pl.historyRun.longest.Seconds()
		r.MeanS, r.LongestS = &mean, &longest
	}
	return r
}

func (r planJSON) printJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
