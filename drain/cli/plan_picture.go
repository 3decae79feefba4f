package cli

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed829e008e/ebb/schedule"
)

// A row of the picture is a day of awake and paused time.
type row struct {
	label string
	awake []schedule.Gap
}

// day is the one that the picture shows: that of the next run, in the first schedule's zone, unless it has not 24 hours.
func (pl *plan) day(sets ...schedule.Set) time.Time {
	at, zone := pl.from, pl.zone
	for _, set := range sets {
		if next, ok := set.Next(pl.from.Add(-1)); ok {
			at, zone = next, next.Location()
			break
		}
	}
	at = at.In(zone)
	begin := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, zone)
	for range 3 {
		next := time.Date(begin.Year(), begin.Month(), begin.Day()+1, 0, 0, 0, 0, zone)
		if next.Sub(begin) == 24*time.Hour {
			break
		}
		begin = next
	}
	return begin
}

// drawn puts in the picture: a row for each schedule, one for all of them together, and with a proposal two more.
func (r *planJSON) drawn() {
	pl := &r.plan
	var lines, all schedule.Set
	if r.Proposal != nil {
		lines = r.Proposal.proposal.Lines
	}
	begin := pl.day(pl.set, lines)
	add := func(label string, set schedule.Set) {
		v := set.Verdict(pl.compute, pl.run, begin, begin.Add(24*time.Hour))
		r.rows = append(r.rows, row{label, v.Awake})
		hours := [][2]float64{}
		for _, g := range v.Awake {
			hours = append(hours, [2]float64{g.From.Sub(begin).Hours(), g.To.Sub(begin).Hours()})
		}
		r.Day = append(r.Day, rowJSON{label, hours})
	}
	for _, s := range pl.set {
		add(s.String(), schedule.Set{s})
	}
	if len(pl.set) > 1 {
		add("together", pl.set)
	}
	if lines != nil {
		for _, s := range lines {
			add("proposed: "+s.String(), schedule.Set{s})
		}
		if all = append(append(all, pl.set...), lines...); len(all) > 1 {
			add("together with it", all)
		}
	}
}

// picture draws the rows: a bar a column, as high as its share of awake time.
func (r planJSON) picture(to paper) {
	begin := r.plan.day(r.plan.set, r.proposed())
	label := 0
	for _, row := range r.rows {
		label = max(label, utf8.RuneCountInString(row.label))
	}
	label = min(label, max(8, min(to.width-2-48, max(30, to.width/4))))
	columns := 1 // an hour
	for _, n := range []int{2, 3, 4, 6, 12} {
		if 24*n <= to.width-2-label {
			columns = n
		}
	}
	of := time.Hour / time.Duration(columns)
	to.line("a day, %s in %s; a column is %s", begin.Format("Mon 2006-01-02"), begin.Location(), schedule.Length(of))
	axis := ""
	for h := 0; h < 24; h += 3 {
		axis += fmt.Sprintf("%-*d", 3*columns, h)
	}
	to.line("%*s  %s", label, "", strings.TrimRight(axis, " "))
	for _, row := range r.rows {
		cells := make([]float64, 24*columns)
		for _, g := range row.awake {
			for i := range cells {
				a, b := begin.Add(time.Duration(i)*of), begin.Add(time.Duration(i+1)*of)
				if g.From.After(a) {
					a = g.From
				}
				if g.To.Before(b) {
					b = g.To
				}
				cells[i] += max(0, float64(b.Sub(a))/float64(of))
			}
		}
		to.line("%s  %s", pad(row.label, label), to.bars(cells))
	}
	to.line("%*s  %s awake  %s paused", label, "", to.colour(yellow, "█"), to.colour(dim, "·"))
}

func (r planJSON) proposed() schedule.Set {
	if r.Proposal == nil {
		return nil
	}
	return r.Proposal.proposal.Lines
}

// bars are as high as the shares, and a dot where there is nothing.
func (to paper) bars(shares []float64) string {
	var b strings.Builder
	var run []rune
	var of string
	flush := func() {
		b.WriteString(to.colour(of, string(run)))
		run = run[:0]
	}
	for _, share := range shares {
		r, colour := '·', dim
		if share > 0.001 {
			r, colour = []rune("▁▂▃▄▅▆▇█")[min(7, max(0, int(math.Ceil(share*8-0.01))-1))], yellow
		}
		if colour != of {
			flush()
			of = colour
		}
		run = append(run, r)
	}
	flush()
	return b.String()
}

// pad makes a text so long, or cuts it.
func pad(text string, length int) string {
	runes := []rune(text)
	if len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text + strings.Repeat(" ", length-len(runes))
}
