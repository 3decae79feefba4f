package cli

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "0": 0, "0s": 0, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond,
		"87600h": longest,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"30":                    `"30" has no unit; use 30s`,
		"00":                    `"00" has no unit; use 00s`,
		"-5s":                   `"-5s" is negative`,
		"-5":                    `"-5" is negative`,
		"1d":                    `"1d": the largest unit is the hour; use 24h`,
		"2w":                    `"2w": the largest unit is the hour; use 336h`,
		"1h30":                  `"1h30" ends in a number without a unit; use 1h30m`,
		"9999999h":              `"9999999h" is longer than ten years`,
		"99999999999999999999h": `"99999999999999999999h" is longer than ten years`,
		"87600h1s":              `"87600h1s" is longer than ten years`,
		"1e3s":                  "is not a duration",
		"5 m":                   "is not a duration",
		"٣s":                    "is not a duration",
		"5M":                    "is not a duration",
		"+5s":                   "is not a duration",
		"s":                     "is not a duration",
		"five":                  "is not a duration",
		"5s ":                   "is not a duration", // trimmed before
	} {
		if got, err := parseDuration(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v; want %s", text, got, err, says)
		}
	}
}

// A duration needs a unit, for every setting that is one, as a variable, as a flag and for a queue.
func TestEveryDuration(t *testing.T) {
	good := map[string]time.Duration{"30s": 30 * time.Second, " 5m": 5 * time.Minute, "5m\n": 5 * time.Minute}
	bad := []string{"30", "-5s", "1d", "1h30", "9999999h", "1e3s", "5 m", "٣s", "0.5"}
	n := 0
	for _, s := range Settings() {
		if s.kind != reflect.TypeFor[time.Duration]() {
			continue
		}
		n++
		name := strings.Replace(s.Variable, "<Q>", "EMAIL", 1)
		read := func(value string) (time.Duration, []error) {
			c, mistakes := load(map[string]string{name: value}, given{})
			v := reflect.ValueOf(c).FieldByName(s.field)
			if s.Flag == "" {
				v = reflect.ValueOf(c.Groups["EMAIL"]).FieldByName(s.field)
			}
			return v.Interface().(time.Duration), mistakes
		}
		for value, want := range good {
			if got, mistakes := read(value); len(mistakes) > 0 || got != want {
				t.Errorf("%s=%q: %v, %v", name, value, got, mistakes)
			}
		}
		if name == "EBB_LINGER" {
			if _, mistakes := read("0"); len(mistakes) > 0 {
				t.Errorf("%s=0: %v", name, mistakes)
			}
		} else {
			for _, value := range []string{"0", "0s", "0h0m", "0.0s"} {
				if _, mistakes := read(value); len(mistakes) != 1 || !strings.HasPrefix(mistakes[0].Error(), name+": 0 makes no sense here; use for example ") {
					t.Errorf("%s=%q: %v", name, value, mistakes)
				}
			}
		}
		for _, value := range bad {
			if _, mistakes := read(value); len(mistakes) != 1 || !strings.HasPrefix(mistakes[0].Error(), name+": ") || !strings.Contains(mistakes[0].Error(), "; use ") {
				t.Errorf("%s=%q: %v", name, value, mistakes)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d settings are durations", n)
	}
}
