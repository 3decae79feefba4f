package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that a setting may say.
const longest = 10 * 365 * 24 * time.Hour

var (
	goodDuration = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ns|us|µs|μs|ms|s|m|h))+$`)
	bareTail     = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?h)?[0-9]+$`)
	days         = regexp.MustCompile(`^([0-9]{1,4})([dw])$`)
)

// parseDuration is stricter than Go's: what it refuses it explains. 0 needs no unit.
func parseDuration(text string) (time.Duration, error) {
	positive := strings.TrimPrefix(text, "-")
	switch {
	case text == "0":
		return 0, nil
	case positive != text && (goodDuration.MatchString(positive) || digits.MatchString(positive)):
		return 0, fmt.Errorf("%q is negative", text)
	case digits.MatchString(text):
		return 0, fmt.Errorf("%q has no unit; use %ss", text, text)
	case bareTail.MatchString(text):
		return 0, fmt.Errorf("%q ends in a number without a unit; use %sm", text, text)
	case days.MatchString(text):
		m := days.FindStringSubmatch(text)
		n, _ := strconv.Atoi(m[1])
		if m[2] == "w" {
			n *= 7
		}
		return 0, fmt.Errorf("%q: the largest unit is the hour; use %dh", text, n*24)
	case !goodDuration.MatchString(text):
		return 0, fmt.Errorf("%q is not a duration: numbers with the units h, m, s or ms, without spaces", text)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d > longest {
		return 0, fmt.Errorf("%q is longer than ten years", text)
	}
	return d, nil
}
