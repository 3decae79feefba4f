package schedule

import (
	"fmt"
	"strings"
	"time"
)

// cutZone takes the zone's prefix off a text that begins with one.
func cutZone(text string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, "CRON_TZ="); ok {
		return rest, true
	}
	return strings.CutPrefix(text, "TZ=")
}

// loadZone finds a zone by its name. Local is refused: it is another one on every machine.
func loadZone(name string) (*time.Location, error) {
	switch name {
	case "":
		return nil, fmt.Errorf("it names no zone behind the =; for example CRON_TZ=Europe/Berlin")
	case "Local":
		return nil, fmt.Errorf("the zone Local is another one on every machine; for example CRON_TZ=Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no zone %q; for example CRON_TZ=Europe/Berlin", name)
	}
	return zone, nil
}

// Zone is the one that it fires in, and whether its text names it.
func (s Schedule) Zone() (zone *time.Location, named bool) {
	if s.spec.Location == nil {
		return time.UTC, false
	}
	return s.spec.Location, s.named
}

// In gives it another zone, unless its text names one.
func (s Schedule) In(zone *time.Location) Schedule {
	if !s.named {
		s.spec.Location = zone
	}
	return s
}
