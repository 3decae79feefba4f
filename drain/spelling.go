package drain

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// written is how many bytes the secret takes at the beginning of the text, however it is written there; 0 where it is not.
func written(text, secret string) int {
	switch {
	case strings.HasPrefix(text, secret):
		return len(secret)
	case text[0] != secret[0] && !strings.ContainsRune(`%+\'`, rune(text[0])):
		return 0
	}
	for _, decode := range []func(text, want string) (string, int){percentEncoded, backslashed, shellQuoted, sqlQuoted} {
		if n := writtenBy(decode, text, secret); n > 0 {
			return n
		}
	}
	return 0
}

func writtenBy(decode func(text, want string) (string, int), text, secret string) int {
	n := 0
	for secret != "" {
		if n == len(text) {
			return 0
		}
		is, size := decode(text[n:], secret)
		if !strings.HasPrefix(secret, is) {
			return 0
		}
		secret, n = secret[len(is):], n+size
	}
	return n
}

// The following say what the text begins with, and in how many bytes.

func percentEncoded(text, want string) (string, int) {
	if len(text) > 2 && text[0] == '%' {
		if is, err := url.PathUnescape(text[:3]); err == nil {
			return is, 3
		}
	}
	if text[0] == '+' && want[0] == ' ' {
		return " ", 1
	}
	return text[:1], 1
}

// backslashed is JSON, and what shells and languages do alike.
func backslashed(text, _ string) (string, int) {
	if len(text) < 2 || text[0] != '\\' {
		return text[:1], 1
	}
	if value, multibyte, rest, err := strconv.UnquoteChar(text, 0); err == nil { // \n, \u00e9, \xe9
		if is := string(value); multibyte || value < utf8.RuneSelf {
			return is, len(text) - len(rest)
		}
		return string([]byte{byte(value)}), len(text) - len(rest)
	}
	return text[1:2], 2
}

// shellQuoted is a single quote as it is written between single quotes.
func shellQuoted(text, _ string) (string, int) {
	for _, quote := range []string{`'\''`, `'"'"'`} {
		if strings.HasPrefix(text, quote) {
			return "'", len(quote)
		}
	}
	return text[:1], 1
}

// sqlQuoted is a single quote as SQL doubles it.
func sqlQuoted(text, _ string) (string, int) {
	if strings.HasPrefix(text, "''") {
		return "'", 2
	}
	return text[:1], 1
}
