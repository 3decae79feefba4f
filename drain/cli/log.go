package cli

import "log/slog"

// logger writes to standard error: text for people, JSON for what collects logs. Times are in UTC, as everywhere else.
func (p *program) logger(c Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(c.LogLevel), ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		return p.redactAttr(groups, attrInUTC(groups, a))
	}}
	if c.Log == "text" || c.Log == "" && p.stderr.isTerminal {
		return slog.New(slog.NewTextHandler(p.stderr, options))
	}
	return slog.New(slog.NewJSONHandler(p.stderr, options))
}

func attrInUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}
