package drain

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

const redacted = "[redacted]"

// discreet is an error of a connect whose text, see [brief], has neither the password nor the user in it: servers, and
// what stands before them, may repeat in a refusal what they were told, and a token may stand where the user should.
type discreet struct {
	error
	user, password string
}

func (d discreet) Unwrap() error { return d.error }

func withoutSecrets(err error, config *pgx.ConnConfig) error {
	return discreet{err, config.User, config.Password}
}

// keep takes them out of a text, as they are and as a URL has them. The user only as a word of its own, and not the one
// that everybody has; what has one or two characters could be anything.
func (d discreet) keep(text string) string {
	for _, written := range []string{d.password, url.QueryEscape(d.password), url.PathEscape(d.password)} {
		if len(d.password) > 2 {
			text = strings.ReplaceAll(text, written, redacted)
		}
	}
	if len(d.user) > 2 && d.user != "postgres" {
		word := regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(d.user) + `($|[^\pL\pN_])`)
		text = word.ReplaceAllString(text, "${1}"+redacted+"${2}")
	}
	return text
}
