package drain

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func redactWith(text string, secrets ...string) string {
	s := &Secrets{}
	s.Learn(secrets...)
	return s.Redact(text)
}

func TestRedact(t *testing.T) {
	const secret = `p/w:@%41+ "\$x'é` + "\tz"
	quoted, _ := json.Marshal(secret)
	for name, text := range map[string]string{
		"raw":                  secret,
		"query":                url.QueryEscape(secret),
		"path":                 url.PathEscape(secret),
		"user":                 strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
		"lower case":           strings.ToLower(url.QueryEscape(secret)),
		"all of it":            "%70%2F%77%3A%40%25%34%31%2B%20%22%5C%24%78%27%C3%A9%09%7A",
		"JSON":                 strings.Trim(string(quoted), `"`),
		"Go, ASCII":            strings.Trim(strconv.QuoteToASCII(secret), `"`),
		"SQL":                  strings.ReplaceAll(secret, "'", "''"),
		"a shell, single":      strings.ReplaceAll(secret, "'", `'\''`),
		"a shell, dash's way":  strings.ReplaceAll(secret, "'", `'"'"'`),
		"a shell, double":      strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`).Replace(secret),
		"a shell, backslashes": `p/w:@%41+\ \"\\\$x\'é` + "\\\tz",
	} {
		if got := redactWith("a "+text+" b "+text, secret); got != "a [redacted] b [redacted]" {
			t.Errorf("%s: %q is left of %q", name, got, text)
		}
	}
	for _, text := range []string{"", "nothing of it", secret[:len(secret)-1], secret[1:], "%", "%7", `\`, "'"} {
		if got := redactWith(text, secret, "ab", ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := redactWith("a Long-one! and, a Long", "Long-one!", "a Long-one! and"); got != "[redacted], a Long" {
		t.Errorf("a secret in a secret: %q", got)
	}
}
