package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

const (
	assumedTimeout = 10 * time.Minute
	assumedRun     = 30 * time.Second
	assumedResume  = time.Second
)

// An origin says who named a value.
type origin string

const (
	named   origin = "given"
	preset  origin = "preset"
	history origin = "history"
	assumed origin = "assumed"
)

// A plan is what is to be weighed.
type plan struct {
	from                             time.Time
	set                              schedule.Set // what is weighed
	current                          schedule.Set // EBB_SCHEDULE, where a proposal is to take its place
	zone                             *time.Location
	zoneFrom                         string
	compute                          schedule.Compute
	run                              time.Duration
	timeoutFrom, resumeFrom, runFrom origin
	price                            *float64
	latency                          time.Duration
	runs                             int
	history                          *schedule.History
	historyRun                       *ranFor

	together schedule.Verdict
}

// computeOf is the compute that the settings speak of, and who named its timeout and its resume.
func computeOf(c Config) (compute schedule.Compute, timeout, resume origin) {
	compute, ok := schedule.Preset(string(c.Compute))
	timeout, resume = preset, preset
	if !ok {
		compute = schedule.Compute{IdleTimeout: assumedTimeout, Resume: assumedResume}
		timeout, resume = assumed, assumed
	}
	if c.IdleTimeout > 0 {
		compute.IdleTimeout, timeout = c.IdleTimeout, named
	}
	return compute, timeout, resume
}

// zoneOf is the zone of lines that name none: that of the variable TZ, else UTC whatever the machine's is, for the machine
// that the runs will be on is mostly another.
func zoneOf(environ map[string]string) (zone *time.Location, from string, err error) {
	name := strings.TrimPrefix(strings.TrimSpace(environ["TZ"]), ":")
	if name == "" {
		return time.UTC, "none is named", nil
	}
	zone, err = time.LoadLocation(name)
	if err != nil || name == "Local" {
		return time.UTC, "none is named", fmt.Errorf("TZ: there is no zone %q; for example Europe/Berlin, or unset it", name)
	}
	return zone, "from TZ", nil
}

// planned puts together what the settings, flags and arguments say.
func (p *program) planned(c Config, f planFlags, args []string) (plan, []error) {
	var mistakes []error
	wrong := func(name string, err error) {
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", name, err))
		}
	}
	pl := plan{from: p.started.Truncate(time.Second), run: assumedRun, runFrom: assumed, runs: f.runs}
	pl.compute, pl.timeoutFrom, pl.resumeFrom = computeOf(c)
	duration := func(name, text string, into *time.Duration, from *origin) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		d, err := parseDuration(text)
		wrong(name, err)
		*into = d
		if from != nil {
			*from = named
		}
	}
	duration("--run-time", f.runTime, &pl.run, &pl.runFrom)
	duration("--resume", f.resume, &pl.compute.Resume, &pl.resumeFrom)
	duration("--max-latency", f.maxLatency, &pl.latency, nil)
	if f.maxLatency != "" && pl.latency < time.Minute && len(mistakes) == 0 {
		mistakes = append(mistakes, errors.New("--max-latency: cron lines know nothing shorter than 1m"))
	}
	if text := strings.TrimSpace(f.price); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
			mistakes = append(mistakes, fmt.Errorf("--price: %q is not what an hour costs; use for example 0.0265", text))
		}
		pl.price = &n
	}
	if f.runs < 0 || f.runs > 10_000 {
		mistakes = append(mistakes, fmt.Errorf("--runs: %d is not between 0 and 10000", f.runs))
	}
	environ := environment(p.environ)
	var zoneErr error
	pl.zone, pl.zoneFrom, zoneErr = zoneOf(environ)
	for _, arg := range args {
		s, err := schedule.Parse(strings.TrimSpace(arg))
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		pl.set = append(pl.set, s)
	}
	switch {
	case len(args) > 0 && pl.latency > 0:
		pl.current = c.Schedule
	case len(args) > 0:
	case pl.latency > 0:
		pl.current = c.Schedule
	case len(c.Schedule) == 0:
		mistakes = append(mistakes, errors.New("plan needs a cron line, or EBB_SCHEDULE, or --max-latency: ebb plan '*/30 * * * *'"))
	default:
		pl.set = c.Schedule
	}
	for _, s := range append(pl.set[:len(pl.set):len(pl.set)], pl.current...) {
		if _, named := s.Zone(); !named && zoneErr != nil {
			mistakes = append(mistakes, zoneErr)
			break
		}
	}
	pl.set, pl.current = pl.set.In(pl.zone), pl.current.In(pl.zone)
	if text := strings.TrimSpace(f.from); text != "" {
		at, err := parseFrom(text, pl.zone)
		wrong("--from", err)
		pl.from = at
	}
	return pl, mistakes
}

// parseFrom reads a time, or a date in a zone.
func parseFrom(text string, zone *time.Location) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.ParseInLocation(time.DateOnly, text, zone)
	}
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return time.Time{}, fmt.Errorf("%q is no time from 1970 to 2200; use for example 2026-03-01 or 2026-03-01T12:00:00Z", text)
	}
	return at, nil
}

// warnNeverSleeps says before a run that its schedule leaves the database no pause.
func (p *program) warnNeverSleeps(c Config, log *slog.Logger) {
	if len(c.Schedule) == 0 {
		return
	}
	zone, _, _ := zoneOf(environment(p.environ))
	set := c.Schedule.In(zone)
	compute, timeoutFrom, _ := computeOf(c)
	v := set.Verdict(compute, assumedRun, p.started, p.started.AddDate(0, 1, 0))
	if v.NeverSleeps() {
		log.Warn("with EBB_SCHEDULE the database never sleeps; see ebb plan", "schedule", set.String(),
			"longest_gap", schedule.Length(v.Gaps.Longest.Length()), "idle_timeout", schedule.Length(compute.IdleTimeout), "idle_timeout_from", string(timeoutFrom))
	}
}
