package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Length says a duration in words: 15m, 47h, 36h30m, 7d, 1461d (about 4 years).
func Length(d time.Duration) string {
	const aDay = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d >= 2*365*aDay && d%aDay == 0:
		return fmt.Sprintf("%dd (about %.0f years)", d/aDay, float64(d/aDay)/365.25)
	case d >= 3*aDay:
		if hours := d % aDay / time.Hour; hours > 0 {
			return fmt.Sprintf("%dd%dh", d/aDay, hours)
		}
		return fmt.Sprintf("%dd", d/aDay)
	}
	return Exact(d)
}

// Exact says a duration as a setting takes it, without the units that are zero: 1h, 22m30s, 750ms.
func Exact(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Percent says a share in words. What is not all, or nothing, is not said to be.
func Percent(share float64) string {
	switch p := share * 100; {
	case p >= 99.95 && share < 1:
		return "99.9 %"
	case p > 0 && p < 0.05:
		return "under 0.1 %"
	case p == 100 || p == 0:
		return fmt.Sprintf("%.0f %%", p)
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}
