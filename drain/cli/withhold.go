package cli

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// looksSecret tells what may be a connection URL or a password, however it is written: its message must not repeat it.
var looksSecret = regexp.MustCompile(`(?i)://|pass(word|wd|phrase)?["']?\s*[=:]|[^\s:@]+:\S*@`)

// ordinary are words of a connection URL that no message has to avoid.
var ordinary = regexp.MustCompile(`(?i)postgres(ql)?|database_url(_file)?|password|passfile|service|application_name|connect_timeout|sslmode|localhost|127\.0\.0\.1|dbname|host|user|port`)

const (
	piece       = 4 // the characters that a message and a secret must not have in common
	notRepeated = "it looks like a connection URL or a password, so nothing of it is repeated; that belongs into DATABASE_URL, or into the file that DATABASE_URL_FILE names"
)

// A withholding keeps what was typed or set in a wrong place out of the message about it.
type withholding []string

// withheld are the arguments, and the settings other than the one that is made for it, that look like a secret.
func withheld(args []string, environ map[string]string) (w withholding) {
	made := false // for it: the value of --database-url
	for _, arg := range args {
		if !made && !strings.HasPrefix(arg, "--database-url=") && looksSecret.MatchString(arg) {
			w = append(w, arg)
		}
		made = arg == "--database-url"
	}
	for name, value := range environ {
		isSetting := strings.HasPrefix(name, "EBB_") || strings.HasPrefix(name, "PG") || name == "DATABASE_URL_FILE"
		parts := []string{value}
		if strings.HasPrefix(name, groupPrefix) && strings.HasSuffix(name, "_COMMAND") {
			parts = strings.Fields(value) // a message about curl must not be kept back for the URL behind it
		}
		for _, part := range parts {
			if isSetting && looksSecret.MatchString(part) {
				w = append(w, part)
			}
		}
	}
	return w
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
