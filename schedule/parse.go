package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule is a cron line: when runs start. The zero Schedule never does; Parse gives others.
type Schedule struct {
	text  string
	five  string    // without the zone, descriptors written out
	parts [5][]part // of the fields
	spec  cron.SpecSchedule
	named bool // the text names its zone
}

// Parse reads a cron line: five fields (minute, hour, day of month, month, day of week; names are known for the last
// two), or @hourly, @daily, @weekly, @monthly, @yearly. CRON_TZ=Europe/Berlin or TZ=... before it says in which zone;
// else it is UTC until [Schedule.In] says otherwise.
//
// What it takes means the same as in robfig/cron v3, and so in Kubernetes. It refuses what robfig/cron reads as
// something that was hardly meant, what has no meaning for a process that lives for one run, and what never fires.
func Parse(text string) (Schedule, error) {
	s := Schedule{text: text}
	if err := readable(text); err != nil {
		return Schedule{}, fmt.Errorf("schedule %w", err)
	}
	five, zone := text, time.UTC
	if rest, ok := cutZone(text); ok {
		name, after, _ := strings.Cut(rest, " ")
		var err error
		if zone, err = loadZone(name); err != nil {
			return Schedule{}, fmt.Errorf("schedule %q: %w", text, err)
		}
		five, s.named = strings.TrimLeft(after, " "), true
	}
	if err := s.read(five); err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", text, err)
	}
	s.spec.Location = zone
	return s, nil
}

func (s *Schedule) read(five string) (err error) {
	if strings.HasPrefix(five, "@") {
		if five, err = expand(five); err != nil {
			return err
		}
	}
	texts := strings.Fields(five)
	if len(texts) != len(fields) {
		return fmt.Errorf("it needs five fields (minute, hour, day of month, month, day of week) and has %d", len(texts))
	}
	var wrong []error
	for i, f := range fields {
		var err error
		if s.parts[i], err = f.parts(texts[i]); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	s.five = strings.Join(texts, " ")
	spec, err := parseCron(s.five)
	if err != nil {
		return err
	}
	if !comes(spec) {
		return fmt.Errorf("it never fires: no month %s has a day %s", texts[month], texts[dayOfMonth])
	}
	s.spec = *spec
	return nil
}

// ParseLines reads schedules, one a line. Blank lines and white space around a line are no part of it. All that is wrong
// is in the error, which names the lines.
func ParseLines(text string) (Set, error) {
	var set Set
	var wrong []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := Parse(line)
		if err != nil && strings.ContainsRune(strings.TrimSpace(text), '\n') {
			err = fmt.Errorf("line %d: %w", number, err)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		set = append(set, s)
	}
	return set, errors.Join(wrong...)
}

// String is the text that was parsed.
func (s Schedule) String() string { return s.text }

// Five is the text without the zone, and a descriptor as its five fields.
func (s Schedule) Five() string { return s.five }
