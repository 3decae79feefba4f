package schedule

import (
	"fmt"
	"strings"
	"time"
)

// A Kind is what a warning is about.
type Kind string

const (
	KindStep    Kind = "step"    // a step larger than its field
	KindEither  Kind = "either"  // both day fields are restricted, and either is enough
	KindSkipped Kind = "skipped" // a change of clocks skips a run
	KindDoubled Kind = "doubled" // a change of clocks doubles a run
	KindAwake   Kind = "awake"   // the compute never pauses
	KindShort   Kind = "short"   // it cannot pause in some of the gaps
	KindNarrow  Kind = "narrow"  // a gap is under twice the idle timeout
	KindTimeout Kind = "timeout" // the vendor has no such timeout
	KindOverlap Kind = "overlap" // runs take longer than the gap between them
)

// A Warning is what a schedule, or a verdict, has that is probably not meant.
type Warning struct {
	Kind Kind
	Text string
}

// Warnings tells what the text says otherwise than it seems to, and what the zone's changes of clocks do in a window.
func (s Schedule) Warnings(from, to time.Time) (all []Warning) {
	for i, f := range fields {
		for _, p := range s.parts[i] {
			if p.stepped && p.step > 1 && p.step >= p.values() {
				all = append(all, Warning{KindStep, fmt.Sprintf("step larger than the field: %s in the %s field is really %s",
					p.text, f.name, s.really(i, p))})
			}
		}
	}
	if s.five != "" && !isStar(s.spec.Dom) && !isStar(s.spec.Dow) {
		texts := strings.Fields(s.five)
		text := fmt.Sprintf("both day fields are restricted, and either is enough: it fires on day of month %s OR day of week %s, not only where both match",
			texts[dayOfMonth], texts[dayOfWeek])
		if strings.HasPrefix(texts[dayOfMonth], "*/") || strings.HasPrefix(texts[dayOfWeek], "*/") {
			text += " (other crons take a field that begins with * for a star, and want both)"
		}
		all = append(all, Warning{KindEither, text})
	}
	return append(all, s.clockWarnings(from, to)...)
}

// really is what a part with too large a step comes to.
func (s Schedule) really(i int, p part) string {
	f := fields[i]
	only := fmt.Sprintf("%s %d only", f.name, p.low)
	if f.names != nil {
		only = f.names[p.low-f.min] + " only"
	}
	if len(s.parts[i]) > 1 || p.low != f.min {
		return only
	}
	for larger := i + 1; larger < len(fields); larger++ {
		if i == dayOfMonth && larger == dayOfWeek || larger == dayOfWeek && isStar(s.spec.Dow) {
			continue
		}
		if p := s.parts[larger]; len(p) > 1 || p[0].values() != fields[larger].max-fields[larger].min+1 || p[0].step > 1 {
			return only
		}
	}
	return fmt.Sprintf("%s (%s)", f.once, only)
}
