package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A field is one of the five.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on, as crons know them
	once     string   // how often a single value of it comes round
}

const (
	minute = iota
	hour
	dayOfMonth
	month
	dayOfWeek
)

var fields = [5]field{
	minute:     {"minute", 0, 59, nil, "hourly"},
	hour:       {"hour", 0, 23, nil, "daily"},
	dayOfMonth: {"day of month", 1, 31, nil, "monthly"},
	month:      {"month", 1, 12, strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"), "yearly"},
	dayOfWeek:  {"day of week", 0, 6, strings.Fields("SUN MON TUE WED THU FRI SAT"), "weekly"},
}

// A part is one of the comma-separated pieces of a field: *, 5, 1-5, each with a step or without.
type part struct {
	text      string
	low, high int
	step      int
	stepped   bool
}

// values is how many values the part's range has.
func (p part) values() int { return p.high - p.low + 1 }

// parts reads a field. It takes less than robfig/cron does, and never anything else.
func (f field) parts(text string) (all []part, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			return nil, f.wrong(text, "has a comma with nothing beside it")
		}
		p, err := f.part(item)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (f field) part(item string) (part, error) {
	p := part{text: item, step: 1}
	base, step, stepped := strings.Cut(item, "/")
	if stepped {
		n, err := strconv.Atoi(step)
		switch {
		case !isNumber(step):
			return p, f.wrong(item, fmt.Sprintf("has the step %q, which is no whole number", step))
		case err != nil || n > 1_000_000:
			return p, f.wrong(item, "has a step that is far too large")
		case n == 0:
			return p, f.wrong(item, "has a step of 0")
		}
		p.step, p.stepped = n, true
	}
	from, to, isRange := strings.Cut(base, "-")
	if from == "*" || from == "?" {
		if isRange {
			return p, f.wrong(item, fmt.Sprintf("is neither * nor a range; write * or %d-%s", f.min, to))
		}
		p.low, p.high = f.min, f.max
		return p, nil
	}
	var err error
	if p.low, err = f.value(from, item); err != nil {
		return p, err
	}
	p.high = p.low
	switch {
	case isRange:
		if f.isSunday(to) && p.low > 0 {
			return p, f.wrong(item, fmt.Sprintf("ends in 7, which is no day of the week here; use 0 for Sunday: %s", f.round(from, "6", "0", "0")))
		}
		if p.high, err = f.value(to, item); err != nil {
			return p, err
		}
		if p.low > p.high {
			return p, f.wrong(item, "runs backwards; write "+f.round(from, f.say(f.max, from), f.say(f.min, from), to))
		}
	case stepped:
		p.high = f.max
	}
	return p, nil
}

// round writes a range that goes over the end as two.
func (f field) round(from, last, first, to string) string {
	a, b := from+"-"+last, first+"-"+to
	if from == last {
		a = from
	}
	if first == to {
		b = to
	}
	return a + "," + b
}

// say writes a value as a name where the example is one.
func (f field) say(value int, example string) string {
	if f.names != nil && !isNumber(example) {
		return f.names[value-f.min]
	}
	return strconv.Itoa(value)
}

func (f field) value(text, item string) (int, error) {
	if i := slices.Index(f.names, strings.ToUpper(text)); i >= 0 {
		return f.min + i, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case f.isSunday(text):
		return 0, f.wrong(item, "says 7, which is no day of the week here; use 0 for Sunday")
	case !isNumber(text) && f.names != nil:
		return 0, f.wrong(item, fmt.Sprintf("is not understood: %q is neither a number from %d to %d nor a name (%s-%s)",
			text, f.min, f.max, f.names[0], f.names[len(f.names)-1]))
	case !isNumber(text):
		return 0, f.wrong(item, fmt.Sprintf("is not understood: %q is not a number from %d to %d", text, f.min, f.max))
	case err != nil || n < f.min || n > f.max:
		return 0, f.wrong(item, fmt.Sprintf("is out of range: from %d to %d", f.min, f.max))
	}
	return n, nil
}

// isSunday says whether it is the 7 of other crons.
func (f field) isSunday(text string) bool {
	return f.name == fields[dayOfWeek].name && strings.TrimLeft(text, "0") == "7" && isNumber(text)
}

func (f field) wrong(text, what string) error {
	return fmt.Errorf("the %s %q %s", f.name, text, what)
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
