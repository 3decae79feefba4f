package cli

import (
	"fmt"
	"strings"
	"time"
)

// A demoStyle is what a terminal can show.
type demoStyle struct {
	width        int
	colour, utf8 bool
}

const (
	demoLabel  = 19 // columns left of the timeline
	demoShare  = 7  // right of it
	demoTold   = 5  // lines of what happened last
	demoHeight = 1 + 4 + 1 + demoTold + 1
	demoNarrow = 60 // columns, below which there is no room for a timeline
)

// The colours, by their SGR codes.
const (
	plainColour  = ""
	dimColour    = "2"
	ebbColour    = "32"
	runColour    = "36"
	jobColour    = "1;33"
	pollerColour = "31"
)

// A demoCell is one character of a line.
type demoCell struct {
	r      rune
	colour string
}

// picture draws the day so far, in lines that fit. The caller holds mu.
func (d *demoDay) picture(now time.Time, style demoStyle) []string {
	n := min(style.width, 120) - demoLabel - demoShare - 1 // the last column is left empty, lest terminals wrap
	perCell := d.length / time.Duration(n)
	at := func(cell int) time.Time { return d.began.Add(time.Duration(cell) * perCell) }
	row := func(label, right string, cell func(from, to time.Time) demoCell) string {
		cells := inColour("  "+fmt.Sprintf("%-*s", demoLabel-2, label), plainColour)
		for i := range n {
			if !at(i).Before(now) {
				cells = append(cells, demoCell{' ', plainColour})
				continue
			}
			cells = append(cells, cell(at(i), at(i+1)))
		}
		return style.line(append(cells, inColour(fmt.Sprintf("%*s", demoShare, right), plainColour)...))
	}
	awake := func(label string, spans []demoSpan, colour string) string {
		var total time.Duration
		for _, s := range spans {
			total += s.within(d.began, now)
		}
		share := fmt.Sprintf("%.0f %%", 100*float64(total)/float64(max(1, now.Sub(d.began))))
		return row(label, share, func(from, to time.Time) demoCell {
			half := to.Sub(from) / 2
			left, right := covered(spans, from.Add(half/2)), covered(spans, from.Add(half+half/2))
			if r := style.half(left, right); left || right {
				return demoCell{r, colour}
			}
			return demoCell{style.rune('·', '.'), dimColour}
		})
	}
	lines := []string{
		d.axis(n, style),
		row("documents come", "", func(from, to time.Time) demoCell {
			jobs := 0
			for _, a := range d.arrivals {
				if !a.at.Before(from) && a.at.Before(to) {
					jobs += a.jobs
				}
			}
			switch {
			case jobs == 0:
				return demoCell{' ', plainColour}
			case jobs > 9:
				return demoCell{'+', jobColour}
			}
			return demoCell{rune('0' + jobs), jobColour}
		}),
		row("ebb runs", "", func(from, to time.Time) demoCell {
			for _, s := range d.runs {
				if s.from.Before(to) && (s.to.IsZero() || !s.to.Before(from)) {
					return demoCell{style.rune('▬', '='), runColour}
				}
			}
			return demoCell{' ', plainColour}
		}),
		awake("ebb's database", d.awake, ebbColour),
		awake("a polled one", d.other, pollerColour),
		"",
	}
	told := d.lines[max(0, len(d.lines)-demoTold):]
	for i := range demoTold {
		line := ""
		if i < len(told) {
			line = "  " + told[i]
		}
		lines = append(lines, style.line(inColour(line, plainColour)))
	}
	legend := fmt.Sprintf("  %c awake  %c paused", style.half(true, true), style.rune('·', '.'))
	if now.Before(d.began.Add(d.length)) {
		legend += "   Ctrl-C ends the day early"
	}
	return append(lines, style.line(inColour(legend, dimColour)))
}

// axis is the line of times above the rows.
func (d *demoDay) axis(n int, style demoStyle) string {
	line := []rune(strings.Repeat(" ", demoLabel+n+demoShare))
	for at := time.Duration(0); at <= d.length; at += d.every {
		label := []rune(fmt.Sprintf("%.0f s", at.Seconds()))
		start := demoLabel + int(int64(n)*int64(at)/int64(d.length))
		if start+len(label) <= demoLabel+n {
			copy(line[start:], label)
		}
	}
	copy(line[len(line)-len("awake"):], []rune("awake"))
	return style.line(inColour(string(line), dimColour))
}

func covered(spans []demoSpan, at time.Time) bool {
	for _, s := range spans {
		if !s.from.After(at) && (s.to.IsZero() || s.to.After(at)) {
			return true
		}
	}
	return false
}

func inColour(s, colour string) (cells []demoCell) {
	for _, r := range s {
		cells = append(cells, demoCell{r, colour})
	}
	return cells
}

func (s demoStyle) rune(unicode, ascii rune) rune {
	if s.utf8 {
		return unicode
	}
	return ascii
}

// half is a cell of which both halves can be awake.
func (s demoStyle) half(left, right bool) rune {
	switch {
	case left && right:
		return s.rune('█', '#')
	case left:
		return s.rune('▌', '#')
	}
	return s.rune('▐', '#')
}

// line puts cells together, no more than fit, with as few changes of colour as can be.
func (s demoStyle) line(cells []demoCell) string {
	var b strings.Builder
	colour := plainColour
	for _, c := range cells[:min(len(cells), s.width-1)] {
		if s.colour && c.colour != colour && c.r != ' ' {
			b.WriteString("\x1b[0")
			if c.colour != plainColour {
				b.WriteString(";" + c.colour)
			}
			b.WriteByte('m')
			colour = c.colour
		}
		b.WriteRune(c.r)
	}
	if colour != plainColour {
		b.WriteString("\x1b[0m")
	}
	return strings.TrimRight(b.String(), " ")
}
