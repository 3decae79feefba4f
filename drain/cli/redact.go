package cli

import (
	"fmt"
	"log/slog"
	"strings"
)

// learn takes in what is secret from the beginning: what the environment and the arguments hold. What files hold is
// learned when they are read.
func (p *program) learn() {
	environ := environment(p.environ)
	for name, value := range environ {
		switch {
		case name == "PGPASSWORD", name == "PGSSLPASSWORD", name == "EBB_TOKEN", strings.HasPrefix(name, "EBB_") && strings.HasSuffix(name, "_SECRET"):
			p.secrets.Learn(value)
		case name == "DATABASE_URL_FILE", name == "EBB_TOKEN_FILE": // a handler may be let to read it before ebb does
			text, _ := readPlain(value)
			p.secrets.LearnURL(string(text))
			if name == "EBB_TOKEN_FILE" {
				p.secrets.Learn(string(text))
			}
		case strings.HasPrefix(name, "DATABASE_URL"), strings.HasPrefix(name, "PG"):
			p.secrets.LearnURL(value)
		}
	}
	p.secrets.Learn(withheld(p.args, environ)...)
}

// redactAttr is the log's way through [drain.Secrets]: texts, errors and lists of texts.
func (p *program) redactAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		return slog.String(a.Key, p.secrets.Redact(v))
	case error:
		return slog.String(a.Key, p.secrets.Redact(v.Error()))
	case []string:
		all := make([]string, len(v))
		for i := range v {
			all[i] = p.secrets.Redact(v[i])
		}
		return slog.Any(a.Key, all)
	case slog.Level:
		return a
	case fmt.Stringer:
		if a.Value.Kind() == slog.KindAny {
			return slog.String(a.Key, p.secrets.Redact(v.String()))
		}
	}
	return a
}
