package cli

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// secretParts are where a secret may be in what was typed, however it is written: what stands before the last @ of a URL or of
// user:password@host, all of a database's URL without one, and what is behind a password=.
var secretParts = []*regexp.Regexp{
	regexp.MustCompile(`(?is)://(.*)@`),
	regexp.MustCompile(`(?is)([^\s:@]+:\S.*)@`),
	regexp.MustCompile(`(?is)postgres(?:ql)?:([^@]*)$`),
	passwordPart,
}

var passwordPart = regexp.MustCompile(`(?is)pass(?:word|wd|phrase)?["']?\s*[=:](.*)`)

// ordinary are words of a connection URL that no message has to avoid.
var ordinary = regexp.MustCompile(`(?i)postgres(ql)?|database_url(_file)?|password|passfile|service|application_name|connect_timeout|sslmode|localhost|127\.0\.0\.1|dbname|host|user|port`)

const (
	piece       = 4 // the characters that a message and a secret must not have in common
	notRepeated = "it looks like a connection URL or a password, so nothing of it is repeated; that belongs into DATABASE_URL, or into the file that DATABASE_URL_FILE names"
)

// A withholding keeps what was typed or set in a wrong place out of the message about it.
type withholding []string

// withheld are the secrets that the arguments and the settings may have, but for the setting that is made for one.
func withheld(args []string, environ map[string]string) (w withholding) {
	made := false // for it: the value of --database-url
	for _, arg := range args {
		if !made && !strings.HasPrefix(arg, "--database-url=") {
			w.add(arg)
		}
		made = arg == "--database-url"
	}
	for name, value := range environ {
		if strings.HasPrefix(name, "EBB_") || strings.HasPrefix(name, "PG") || name == "DATABASE_URL_FILE" {
			w.add(value)
		}
	}
	return w
}

func (w *withholding) add(text string) {
	for _, part := range secretParts {
		if found := part.FindStringSubmatch(text); found != nil {
			*w = append(*w, found[1])
		}
	}
}

// line is a line of a message, or what stands in its place where it has a piece of a secret: what it is about, if that
// can be said.
func (w withholding) line(text string) string {
	if !w.in(text) {
		return text
	}
	if about, _, cut := strings.Cut(text, ": "); cut && !w.in(about) {
		return about + ": " + notRepeated
	}
	return "an argument: " + notRepeated
}

func (w withholding) in(text string) bool {
	for _, secret := range w {
		for part := range strings.SplitSeq(ordinary.ReplaceAllString(secret, "\n"), "\n") {
			for i := range part {
				end := i
				for range piece {
					_, size := utf8.DecodeRuneInString(part[end:])
					end += size
				}
				if utf8.RuneCountInString(part[i:end]) == piece && strings.Contains(text, part[i:end]) {
					return true
				}
			}
		}
	}
	return false
}
