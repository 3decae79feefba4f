package drain

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

const redacted = "[redacted]"

// Secrets is what is secret in a process, and takes it out of texts for people: servers, what stands before them and
// handlers may repeat what they were told. The zero value knows none, and a nil one learns
// none. It may be used by several goroutines.
//
// A secret is found wherever it stands and however it is written there: as it is, percent-encoded, as a string of JSON, of
// Go, of a shell or of SQL. One that could be an ordinary word is found less: a short one of lower-case letters or digits only where it is a
// word of its own, and one that is a word of Postgres' or ebb's messages, or has one or two characters, only in quotes, for
// taking it out everywhere would tell what it is.
type Secrets struct {
	mu    sync.RWMutex
	found map[string]finding
	order []string // the longest first: one may be in another
}

// A finding is where a secret is taken for one.
type finding int

const (
	quoted finding = iota
	ofItsOwn
	anywhere
)

// ordinaryWords are those of the messages that people read most.
var ordinaryWords = strings.Fields(`password postgres postgresql database databases user users role roles host hosts port
	server client connection connect connected refused failed failure timeout error errors fatal schema table column queue
	queues job jobs ebb run runs email mail default public private local localhost admin administrator root test tests secret
	true false null none invalid value values parameter name names file files empty time signal done running queued claimed
	retried released lost reaped handler handlers worker command exit status attempt lease settings unknown network address
	socket lookup dial read write permission denied authentication certificate expired missing options service application
	exists does not exist syntax near line`)

// findingOf is where a secret of these looks is taken for one.
func findingOf(secret string) finding {
	plain := !strings.ContainsFunc(secret, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	switch {
	case len(secret) < 3, slices.Contains(ordinaryWords, strings.ToLower(secret)):
		return quoted
	case plain && len(secret) < 8:
		return ofItsOwn
	}
	return anywhere
}

// Learn takes in secrets, each line of one that has several, since it is printed line by line, and base64 of it. Blank
// ones are none.
func (s *Secrets) Learn(secrets ...string) {
	for _, secret := range secrets {
		for _, part := range append(strings.Split(secret, "\n"), secret) {
			part = strings.TrimSpace(part)
			s.learn(part, findingOf(part))
		}
		if secret = strings.TrimSpace(secret); len(secret) > 5 {
			s.learn(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), anywhere)
		}
	}
}

func (s *Secrets) learn(secret string, f finding) {
	if s == nil || strings.TrimSpace(secret) == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		s.found = map[string]finding{}
	}
	if was, known := s.found[secret]; known {
		s.found[secret] = max(was, f)
		return
	}
	s.order = append(s.order, secret)
	s.found[secret] = f
	slices.SortStableFunc(s.order, func(a, b string) int { return len(b) - len(a) })
}

// LearnFrom takes in what is secret in a connection's configuration: the password wherever it came from, as the URL has it
// too, and the host of a URL without a user, which may be a token. What a session is asked for is taken out in quotes: a
// server repeats it that way where it refuses it. The user is none, unless it is the password too.
func (s *Secrets) LearnFrom(config *pgx.ConnConfig) {
	text := config.ConnString()
	s.Learn(config.Password)
	s.LearnURL(text)
	_, rest, isURL := strings.Cut(text, "://")
	end := strings.IndexAny(rest+"/", "/?#")
	if _, err := netip.ParseAddr(config.Host); isURL && end > 0 && !strings.Contains(rest[:end], "@") && err != nil && !strings.HasPrefix(config.Host, "/") {
		s.Learn(config.Host)
	}
	for name, value := range config.RuntimeParams {
		if name != "options" && !strings.Contains(name, ".") {
			continue // a setting of Postgres' own
		}
		for _, asked := range append(strings.Fields(value), value) {
			for _, part := range strings.SplitN(asked, "=", 2)[min(1, strings.Count(asked, "=")):] {
				if part != config.Database && part != config.User {
					s.learn(part, quoted)
				}
			}
		}
	}
}

var (
	passwordInURL   = regexp.MustCompile(`(?s)://[^:@/?#]*:(.*)@`)
	passwordInWords = regexp.MustCompile(`(?is)(?:password|secret)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\&]|\\.)*)`)
)

// LearnURL takes in the passwords of a connection URL or a keyword string as they are written there.
func (s *Secrets) LearnURL(text string) {
	if found := passwordInURL.FindStringSubmatch(text); found != nil {
		s.learnEscaped(found[1])
	}
	for _, found := range passwordInWords.FindAllStringSubmatch(text, -1) {
		s.learnEscaped(found[1])
		s.Learn(strings.Trim(found[1], "'"))
	}
}

func (s *Secrets) learnEscaped(written string) {
	s.Learn(written)
	for _, unescape := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if plain, err := unescape(written); err == nil {
			s.Learn(plain)
		}
	}
}

// Redact gives the text without the secrets. It is what a handler's output is to pass before it is kept or shown.
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var b strings.Builder
	kept := 0 // of the text, so far
	for i := 0; i < len(text); {
		n := s.at(text, i)
		if n > 0 {
			b.WriteString(text[kept:i] + redacted)
			kept = i + n
		}
		i += max(n, 1)
	}
	if kept == 0 {
		return text
	}
	return b.String() + text[kept:]
}

// at is how many bytes the secret takes that stands at a place in a text; 0 where none does.
func (s *Secrets) at(text string, i int) int {
	for _, secret := range s.order {
		if n := written(text[i:], secret); n > 0 && s.found[secret].isIn(text, i, i+n) {
			return n
		}
	}
	return 0
}

// isIn says whether what stands in a text from one place to another is taken for the secret that it looks like.
func (f finding) isIn(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return f == anywhere || f == ofItsOwn && !inWord(before) && !inWord(after) || isQuote(before) && isQuote(after) || before == ':' && after == '@'
}

func inWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func isQuote(r rune) bool { return strings.ContainsRune("\"'`«»“”„", r) }

// discreet is an error of a connect whose text, see [brief], has nothing in it that is secret in the configuration.
type discreet struct {
	error
	secrets *Secrets
}

func (d discreet) Unwrap() error { return d.error }

func withoutSecrets(err error, config *pgx.ConnConfig) error {
	s := &Secrets{}
	s.LearnFrom(config)
	return discreet{err, s}
}
