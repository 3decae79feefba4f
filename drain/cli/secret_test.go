package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

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
