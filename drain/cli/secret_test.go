package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// A URL that ends up in another variable is refused without a word of it.
func TestURLInTheWrongPlace(t *testing.T) {
	const url = "postgres://joe:hunter2hunter2@db/jobs"
	for _, s := range configSettings() {
		for _, value := range []string{url, "\"" + url + "\"", url + "\nmore", "host=db password=hunter2hunter2", "DATABASE_URL=" + url} {
			if s.Variable == "DATABASE_URL" && value == url {
				continue
			}
			got := setup{env: map[string]string{"DATABASE_URL": nowhere, s.Variable: value}}.ebb("run", "--connect-timeout", "10ms", "--", "true")
			if strings.Contains(got.stdout+got.stderr, "hunter2") {
				t.Errorf("%s=%q: %s%s", s.Variable, value, got.stdout, got.stderr)
			}
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	const password = "hunter2hunter2"
	c := Config{DatabaseURL: secret("postgres://u:" + password + "@h/d")}
	hidden := struct{ s Secret }{c.DatabaseURL}
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%U"} {
		fmt.Fprintf(&b, verb+verb+verb+verb, c.DatabaseURL, &c.DatabaseURL, c, hidden)
	}
	fmt.Fprint(&b, c.DatabaseURL, c, hidden)
	for _, value := range []any{c.DatabaseURL, c, &c, hidden, map[string]any{"s": c.DatabaseURL}} {
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "value", value)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "value", value)
		text, err := json.Marshal(value)
		if err != nil {
			t.Error(err)
		}
		b.Write(text)
	}
	if hex := fmt.Sprintf("%x", password); strings.Contains(b.String(), password) || strings.Contains(b.String(), hex) {
		t.Errorf("printed: %s", b.String())
	}
	if got := fmt.Sprint(c.DatabaseURL); got != redacted {
		t.Errorf("prints as %s", got)
	}
}
