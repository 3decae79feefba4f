package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/seed829e008e/ebb/schedule"
)

// A list is names separated by commas.
type list []string

// A logFormat is text or json; empty means by terminal.
type logFormat string

// A logLevel is the least level that is logged.
type logLevel slog.Level

// parsers read the kinds of values that Config has. What they are given is trimmed and not empty.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[time.Duration](): func(text string) (any, error) { return parseDuration(text) },
	reflect.TypeFor[int]():           func(text string) (any, error) { return parseCount(text) },
	reflect.TypeFor[bool]():          func(text string) (any, error) { return parseBool(text) },
	reflect.TypeFor[list]():          func(text string) (any, error) { return parseList(text) },
	reflect.TypeFor[Secret]():        func(text string) (any, error) { return secret(text), nil },
	reflect.TypeFor[logFormat]():     func(text string) (any, error) { return parseLogFormat(text) },
	reflect.TypeFor[schedule.Set]():  func(text string) (any, error) { return parseSchedules(text) },
	reflect.TypeFor[computeName]():   func(text string) (any, error) { return parseCompute(text) },
	reflect.TypeFor[logLevel]():      func(text string) (any, error) { return parseLogLevel(text) },
}

var digits = regexp.MustCompile(`^[0-9]+$`)

func parseCount(text string) (int, error) {
	if strings.HasPrefix(text, "-") && digits.MatchString(text[1:]) {
		return 0, fmt.Errorf("%s is negative", text)
	}
	if !digits.MatchString(text) {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is too large", text)
	}
	return n, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// parseList takes names apart. A comma that belongs to a name is written with a backslash before it.
func parseList(text string) (list, error) {
	var names list
	const comma = "\x00" // of a name: it can be in no argument and no variable
	for name := range strings.SplitSeq(strings.ReplaceAll(text, `\,`, comma), ",") {
		name = strings.ReplaceAll(strings.TrimSpace(name), comma, ",")
		switch {
		case name == "": // a comma too many
			continue
		case isQuoted(name):
			return nil, fmt.Errorf("the quotes in %s would be part of the name; take them away", before(name))
		}
		names = append(names, name)
	}
	if names == nil {
		return nil, errors.New("there is no name between its commas")
	}
	return names, nil
}

func parseLogFormat(text string) (logFormat, error) {
	switch f := logFormat(strings.ToLower(text)); f {
	case "text", "json":
		return f, nil
	}
	return "", fmt.Errorf("%q is neither text nor json", text)
}

func parseLogLevel(text string) (logLevel, error) {
	switch strings.ToLower(text) {
	case "debug":
		return logLevel(slog.LevelDebug), nil
	case "info":
		return logLevel(slog.LevelInfo), nil
	case "warn":
		return logLevel(slog.LevelWarn), nil
	case "error":
		return logLevel(slog.LevelError), nil
	}
	return 0, fmt.Errorf("%q is none of debug, info, warn and error", text)
}

// isQuoted says whether the value brought its quotes along, as those from env files do.
func isQuoted(text string) bool {
	return len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]
}

// errZero is the mistake of a 0 that would mean nothing sensible.
var errZero = errors.New("0 makes no sense here")
