package cli

import "log/slog"

// logger writes to standard error: text for people, JSON for what collects logs.
func (p *program) logger(c Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(c.LogLevel), ReplaceAttr: p.redactAttr}
	if c.Log == "text" || c.Log == "" && p.stderr.isTerminal {
		return slog.New(slog.NewTextHandler(p.stderr, options))
	}
	return slog.New(slog.NewJSONHandler(p.stderr, options))
}
