package deploy

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// deploy/validate reads such texts with real parsers; here is what they look like.
func TestQuoted(t *testing.T) {
	for text, want := range map[string][3]string{ // YAML, a unit's variable, a unit's argument
		"":                 {`""`, `""`, `""`},
		"plain":            {`"plain"`, `plain`, `plain`},
		"two words":        {`"two words"`, `"two words"`, `"two words"`},
		`say "a\b"`:        {`"say \"a\\b\""`, `"say \"a\\b\""`, `"say \"a\\b\""`},
		"a\nb\tc":          {`"a\nb\tc"`, `"a\nb\tc"`, `"a\nb\tc"`},
		"$HOME 100%":       {`"$HOME 100%"`, `"$HOME 100%%"`, `"$$HOME 100%%"`},
		"# ; '":            {`"# ; '"`, `"# ; '"`, `"# ; '"`},
		"é🌊\u0085\u2028":   {`"é🌊\x85\u2028"`, `"é🌊\u0085\u2028"`, `"é🌊\u0085\u2028"`},
		"\U000f0000\x1b!/": {`"\U000f0000\x1b!/"`, `"\U000f0000\x1b!/"`, `"\U000f0000\x1b!/"`},
	} {
		if got := [3]string{yamlString(text), unitString(text), unitArgument(text)}; got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestSettingsOfLimits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 22*time.Minute + 30*time.Second: "22m30s", 45 * time.Second: "45s",
		1500 * time.Millisecond: "1.5s", 100 * time.Hour: "100h", time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m",
	} {
		if got := schedule.Exact(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
		if back, err := time.ParseDuration(schedule.Exact(d)); err != nil || back != d {
			t.Errorf("%s comes back as %s: %v", d, back, err)
		}
	}
	if got := seconds(1500 * time.Millisecond); got != 2 {
		t.Errorf("1.5s are %d seconds, want 2", got)
	}
}
