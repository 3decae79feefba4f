package cli

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// rereadSecrets is how old what was read from files may be: a secret may change while a run lasts.
const rereadSecrets = time.Second

// redactor takes out of what handlers print whatever ebb itself knows to be secret, however it is written there. Secrets
// that are no longer in force stay secret.
func (p *program) redactor(c Config) func(text string) string {
	var mu sync.Mutex
	var known, sought []string
	var read time.Time
	look := func() []string {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); read.IsZero() || now.Sub(read) > rereadSecrets {
			read = now
			known = append(known, c.secrets(environment(p.environ))...)
			slices.Sort(known)
			known = slices.Compact(known)
			sought = asPrinted(known)
		}
		return sought
	}
	look() // later there may be no file left to open
	return func(text string) string { return redact(text, look()) }
}

// secrets are the passwords and tokens that the settings have, as they are now, and the connection URLs with a password.
func (c Config) secrets(environ map[string]string) []string {
	file := func(name string) string {
		name = strings.TrimSpace(name)
		if about, err := os.Stat(name); err != nil || !about.Mode().IsRegular() {
			return "" // a pipe would be emptied, and who cannot read it does not know it
		}
		text, _ := os.ReadFile(name)
		return string(text)
	}
	all := []string{environ["PGPASSWORD"], environ["PGSSLPASSWORD"], environ["EBB_TOKEN"], file(environ["EBB_TOKEN_FILE"]), file(c.TokenFile)}
	urls := []string{"", file(c.DatabaseURLFile)} // the first: what libpq's variables and files say
	for name, value := range environ {
		switch {
		case !strings.HasPrefix(name, "DATABASE_URL"):
		case strings.HasSuffix(name, "_FILE"):
			urls = append(urls, file(value))
		default:
			urls = append(urls, value)
		}
	}
	if c.DatabaseURL.isSet() {
		urls = append(urls, c.DatabaseURL.reveal())
	}
	if c.Token.isSet() {
		all = append(all, c.Token.reveal())
	}
	for _, text := range urls {
		if passwords := passwordsOf(strings.TrimSpace(text)); len(passwords) > 0 {
			all = append(append(all, passwords...), text)
		}
	}
	return all
}

// passwordsOf are those in a connection URL, or in key=value pairs, also where it is none for pgx.
func passwordsOf(text string) (all []string) {
	if config, err := pgx.ParseConfig(text); err == nil {
		all = append(all, config.Password)
	}
	if u, err := url.Parse(text); err == nil {
		password, _ := u.User.Password()
		all = append(all, password, u.Query().Get("password"), u.Query().Get("sslpassword"))
	}
	return slices.DeleteFunc(all, blank)
}

// asPrinted are the secrets as they are looked for: longest first, so that none is taken apart by another; each line of
// what has several, for so it is printed; and in base64. What has one or two characters could be anything.
func asPrinted(secrets []string) (all []string) {
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		all = append(all, secret)
		for line := range strings.Lines(secret) {
			all = append(all, strings.TrimSpace(line))
		}
		if len(secret) > 5 {
			all = append(all, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="))
		}
	}
	all = slices.DeleteFunc(all, func(secret string) bool { return utf8.RuneCountInString(secret) < 3 })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

func redact(text string, secrets []string) string {
	var b strings.Builder
	kept := 0 // of the text, so far
	for i := 0; i < len(text); {
		n := 0
		for _, secret := range secrets {
			if n = written(text[i:], secret); n > 0 {
				b.WriteString(text[kept:i] + redacted)
				kept = i + n
				break
			}
		}
		i += max(n, 1)
	}
	if kept == 0 {
		return text
	}
	return b.String() + text[kept:]
}

// written is how many bytes the secret takes at the beginning of the text, however it is written there; 0 where it is not.
func written(text, secret string) int {
	switch {
	case strings.HasPrefix(text, secret):
		return len(secret)
	case text[0] != secret[0] && !strings.ContainsRune(`%+\'`, rune(text[0])):
		return 0
	}
	for _, decode := range []func(text, want string) (string, int){percentEncoded, backslashed, shellQuoted} {
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
