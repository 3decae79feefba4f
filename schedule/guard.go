package schedule

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/robfig/cron/v3"
)

// longest is more than any schedule has to say.
const longest = 1000

// descriptors are the names that there are for common schedules.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// readable refuses what robfig/cron would stumble over, or take for something else, before it comes to see it: white
// space that is no space, and quotes that came along from a file.
func readable(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("is empty; for example */30 * * * *")
	case len(text) > longest:
		return fmt.Errorf("has %d bytes, which is more than any schedule needs", len(text))
	case strings.TrimSpace(text) != text:
		return fmt.Errorf("%q has white space around it; take it away", text)
	case strings.ContainsAny(text, "\"'`"):
		return fmt.Errorf("%q has quotes in it; take them away", text)
	}
	for _, r := range text {
		if r != ' ' && (unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar) {
			return fmt.Errorf("%q has the character %q in it; separate fields with spaces", text, r)
		}
	}
	return nil
}

// expand gives the five fields behind a descriptor.
func expand(text string) (string, error) {
	name, _, _ := strings.Cut(text, " ")
	switch five, ok := descriptors[text]; {
	case ok:
		return five, nil
	case strings.EqualFold(name, "@every"):
		return "", errors.New("@every counts from the start of a process, and every run is a process of its own; write the times, for example */30 * * * *")
	case strings.EqualFold(name, "@reboot"):
		return "", errors.New("@reboot is no time, and nothing here is there to see a start; write the times, for example */30 * * * *")
	case descriptors[strings.ToLower(text)] != "":
		return "", fmt.Errorf("%q: descriptors are written small; use %s", text, strings.ToLower(text))
	}
	return "", fmt.Errorf("there is no descriptor %q; there are @hourly, @daily, @weekly, @monthly and @yearly", text)
}

// parseCron is robfig/cron's parser, whose panics are errors.
func parseCron(five string) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%q cannot be read: %v", five, p)
		}
	}()
	s, err := cron.ParseStandard(five)
	if err != nil {
		return nil, err
	}
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("%q is not five fields", five)
	}
	return spec, nil
}

// days is the most that a month has.
var days = [13]int{1: 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// comes says whether there is a day on which it fires.
func comes(s *cron.SpecSchedule) bool {
	if s.Minute == 0 || s.Hour == 0 || s.Month<<1 == 0 {
		return false
	}
	if !isStar(s.Dow) && s.Dow != 0 {
		return true // either of the day fields is enough, or the other one is a star
	}
	for m := 1; m <= 12; m++ {
		if s.Month>>m&1 != 0 && s.Dom&(1<<(days[m]+1)-1) != 0 {
			return true
		}
	}
	return false
}

// isStar says whether robfig/cron takes the field for a *, which */1 and ? are too.
func isStar(bits uint64) bool { return bits>>63 != 0 }
