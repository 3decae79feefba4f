package schema

import (
	"testing"
	"time"
)

// Only a look that sees the build at work starts the time anew; one that sees nothing, for whatever reason, does not.
func TestWaiting(t *testing.T) {
	works, sees, blind := look{sight: atWork}, look{waits, "pid 7"}, look{}
	for name, c := range map[string]struct {
		looks []look // a second apart, the first after a second
		after int    // seconds, to give up: patience is 3, blind 10
		names string
	}{
		"waits":                       {[]look{sees, sees, sees, sees}, 3, "pid 7"},
		"works":                       {[]look{works, works, works, works, works, works, works, works, works, works, works, works}, 0, ""},
		"waits after work":            {[]look{works, works, sees, sees, sees, sees}, 5, "pid 7"},
		"works between":               {[]look{sees, sees, works, sees, sees, works, sees}, 0, ""},
		"the watch is lost":           {[]look{sees, blind, blind, blind}, 3, "pid 7"},
		"the watch is lost and back":  {[]look{sees, blind, sees, blind}, 3, "pid 7"},
		"seen at work, then nothing":  {[]look{works, works, blind, blind, blind, blind, blind, blind, blind, blind, blind, blind, blind}, 12, unseen},
		"waits at last":               {[]look{blind, blind, blind, blind, sees}, 5, "pid 7"},
		"nothing seen":                {[]look{blind, blind, blind, blind, blind, blind, blind, blind, blind, blind}, 10, unseen},
		"nothing seen but work at 9 ": {[]look{blind, blind, blind, blind, blind, blind, blind, blind, works, blind}, 0, ""},
	} {
		began := time.Unix(0, 0)
		w, gave := waiting{since: began}, 0
		for i, l := range c.looks {
			now := began.Add(time.Duration(i+1) * time.Second)
			w.take(l, now)
			if gave == 0 && w.inVain(now, 3*time.Second, 10*time.Second) {
				gave = i + 1
			}
		}
		if gave != c.after || gave > 0 && w.blockedBy() != c.names {
			t.Errorf("%s: gave up after %d s, want %d; blocked by %q, want %q", name, gave, c.after, w.blockedBy(), c.names)
		}
	}
}

func TestBlind(t *testing.T) {
	for bytes, want := range map[int64]time.Duration{
		0: time.Minute, 1<<20 - 1: time.Minute, 8 << 20: 68 * time.Second, 1 << 30: time.Minute + 1024*time.Second,
	} {
		if got := blind(time.Minute, bytes); got != want {
			t.Errorf("%d bytes: %v, want %v", bytes, got, want)
		}
	}
}
