package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A source is where the database's URL comes from, asked before every connect.
type source func() (*pgx.ConnConfig, error)

const exampleURL = "postgres://user:password@host:5432/database"

// leading are the variables of libpq any of which says where a database is, so that no setting of ebb has to.
var leading = []string{"PGHOST", "PGPORT", "PGSERVICE", "PGDATABASE"}

// database says where the jobs are, or all that is wrong with what is said of it.
func (c Config) database(environ map[string]string, by given) (source, []error) {
	mistakes := variablesOfLibpq(environ)
	others := len(mistakes)
	urlFlag, fileFlag := !blank(by.flags["DATABASE_URL"]), !blank(by.flags["DATABASE_URL_FILE"])
	_, blankURL := by.flags["DATABASE_URL"]
	_, blankFile := by.flags["DATABASE_URL_FILE"]
	if blankURL && !urlFlag || blankFile && !fileFlag {
		return nil, mistakes // said of the flag
	}
	if urlFlag && fileFlag {
		return nil, append(mistakes, errors.New("--database-url and --database-url-file are both given; keep one of them"))
	}
	if !urlFlag && !fileFlag {
		for _, name := range []string{"DATABASE_URL", "DATABASE_URL_FILE"} {
			if value, there := environ[name]; there && blank(value) {
				mistakes = append(mistakes, fmt.Errorf("%s is there but blank; set it, for example to %s, or unset it", name, exampleOf(name)))
			}
		}
		if c.DatabaseURL.isSet() && c.DatabaseURLFile != "" {
			mistakes = append(mistakes, errors.New("DATABASE_URL and DATABASE_URL_FILE are both set; unset one of them"))
		}
		if len(mistakes) > others {
			return nil, mistakes
		}
	}
	var from source
	switch {
	case fileFlag || c.DatabaseURLFile != "" && !urlFlag:
		name := "DATABASE_URL_FILE"
		if fileFlag {
			name = "--database-url-file"
		}
		from = func() (*pgx.ConnConfig, error) {
			text, err := readPlain(c.DatabaseURLFile)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if blank(string(text)) {
				return nil, fmt.Errorf("%s: %s is empty; write the database's URL into it", name, c.DatabaseURLFile)
			}
			return c.parseURL("the URL in "+name, string(text))
		}
	case c.DatabaseURL.isSet():
		name := "DATABASE_URL"
		if urlFlag {
			name = "--database-url"
		}
		from = func() (*pgx.ConnConfig, error) { return c.parseURL(name, c.DatabaseURL.reveal()) }
	case slices.ContainsFunc(leading, func(name string) bool { return !blank(environ[name]) }):
		from = func() (*pgx.ConnConfig, error) { return c.parseURL("what PGHOST, PGSERVICE and the like say", "") }
	default:
		return nil, append(mistakes, fmt.Errorf("DATABASE_URL is not set, nor is DATABASE_URL_FILE, PGHOST or PGSERVICE; "+
			"say where the jobs are, for example DATABASE_URL=%s", exampleURL))
	}
	if _, err := from(); err != nil {
		return nil, append(mistakes, each(err)...)
	}
	return func() (*pgx.ConnConfig, error) {
		config, err := from()
		if err == nil {
			askFor(config, environ)
		}
		return config, err
	}, mistakes
}

// each takes apart what errors.Join put together.
func each(err error) []error {
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		return all.Unwrap()
	}
	return []error{err}
}

// parseURL reads a URL, whose secrets are known from then on; all of one that cannot be read is.
func (c Config) parseURL(name, text string) (*pgx.ConnConfig, error) {
	c.secrets.LearnURL(text)
	config, err := parseURL(name, text)
	if err != nil {
		c.secrets.Learn(text)
		return nil, err
	}
	c.secrets.LearnFrom(config)
	return config, nil
}

func exampleOf(variable string) string {
	all := configSettings()
	return all[slices.IndexFunc(all, func(s Setting) bool { return s.Variable == variable })].example
}

// parseURL reads a connection URL, or key=value pairs, and gives all that is wrong with it. No error has any piece of it:
// what was meant for one part of a URL that is written wrong is found in another, so that a host or a port may be a
// password.
func parseURL(name, text string) (*pgx.ConnConfig, error) {
	text = strings.TrimSpace(text)
	if text != "" {
		if i := strings.IndexFunc(text, isControl); i >= 0 {
			return nil, fmt.Errorf("%s has a control character (%q) in it; take it away", name, text[i:i+1])
		}
		if isQuoted(text) || strings.ContainsAny(text[:1], "\"'`") {
			return nil, fmt.Errorf("%s begins with a quote (%q), which would be part of it; take the quotes away", name, text[:1])
		}
	}
	if err := wrongFiles(name, text); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(text)
	raw := outOfPlace(text)
	if raw == "" && (err != nil || !hasAt(config)) && (text == "" || isURL(text) || isWords(text)) {
		wrong := wrongParameters(name, writtenIn(text))
		if err == nil {
			wrong = append(wrong, wrongInConfig(name, text, config)...)
		}
		if len(wrong) > 0 {
			return nil, errors.Join(wrong...)
		} else if err == nil {
			return config, nil
		}
	}
	var why string
	switch said := fmt.Sprint(err); {
	case err == nil && raw != "":
		why = "has " + raw + "; in a user or password write / as %2F, : as %3A, @ as %40, ? as %3F, # as %23 and % as %25"
	case err == nil && isURL(text):
		why = "has an @ in its host; in a user or password write @ as %40"
	case err == nil:
		why = "is not a connection URL; for example " + exampleURL
	case isURL(text) && strings.ContainsFunc(text, unicode.IsSpace):
		why = "has white space in it; in a user or password write a space as %20"
	case !isURL(text) && text != "":
		why = "is not a connection URL; for example " + exampleURL
	case strings.Contains(said, "percent-encod"):
		why = "has a % that begins no escape; in a user or password write % as %25"
	case strings.Contains(said, "(invalid port") || strings.HasSuffix(said, "invalid port"):
		why = "has a port that is not a number from 1 to 65535; in a user or password write / as %2F, : as %3A, @ as %40, ? as %3F, # as %23 and % as %25"
	case strings.Contains(said, "failed to read service"):
		why = "names a service that is not in the service file; see PGSERVICE and PGSERVICEFILE"
	case strings.Contains(said, "sslmode is invalid"): // in a service file
		why = "has an unknown sslmode; use for example sslmode=verify-full"
	case strings.Contains(said, "failed to configure TLS"):
		why = "names a certificate or key (sslrootcert, sslcert, sslkey) that cannot be used"
	case strings.Contains(said, "connect_timeout"):
		why = "has a connect_timeout that is not a number of seconds"
	default:
		why = "is not a valid connection URL; for example " + exampleURL
	}
	return nil, fmt.Errorf("%s %s", name, why)
}

// outOfPlace is a character of a password that was written as it is, and ends the part of the URL that it stands in: what
// comes before it would be taken for host and port, what comes after it for a database or a parameter.
func outOfPlace(url string) string {
	if !isURL(url) {
		return ""
	}
	_, rest, _ := strings.Cut(url, "://")
	switch end := strings.IndexAny(rest, "/?#"); {
	case end < 0:
		return ""
	case strings.Contains(rest[end:], "@"):
		return "an @ behind its host"
	case strings.Contains(rest, "#"):
		return "a #"
	}
	return ""
}

// hasAt says whether half a password is taken for a host.
func hasAt(config *pgx.ConnConfig) bool {
	return strings.Contains(config.Host, "@") ||
		slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return strings.Contains(f.Host, "@") })
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// isWords says whether a text begins as a keyword string does, with a keyword that there is.
func isWords(text string) bool {
	first := pair.FindStringSubmatchIndex(text)
	if first == nil || first[0] > 0 {
		return false
	}
	keyword := text[first[2]:first[3]]
	_, known := byKeyword(keyword)
	return known || isServers(keyword) && !strings.Contains(keyword, ".") // with one it could be a token
}

// pairs is how key=value pairs that say where a database is begin.
var pairs = regexp.MustCompile(`^(host|hostaddr|port|user|password|dbname|database|service|passfile|sslmode)\s*=`)

// urlWithin finds a connection URL, or what of one could be a password, where a name should stand.
var urlWithin = regexp.MustCompile(`(?s)://|[^\s:@]+:\S.*@`)

// wrongInConfig looks at what pgx made of a text, the service file and the environment.
func wrongInConfig(name, text string, config *pgx.ConnConfig) (mistakes []error) {
	for _, part := range [][2]string{{"database's name", config.Database}, {"user", config.User}, {"host", config.Host}} {
		if urlWithin.MatchString(part[1]) || pairs.MatchString(part[1]) {
			mistakes = append(mistakes, fmt.Errorf("%s leads to a %s that holds a connection URL; that belongs into DATABASE_URL, whole", name, part[0]))
		}
	}
	written, served := writtenIn(text), map[string]string{}
	for key, value := range config.RuntimeParams {
		p, known := byKeyword(key)
		if _, is := written[key]; !is && (p.variable == "" || os.Getenv(p.variable) != value) {
			served[key] = value
		}
		if known && p.fate == dropped {
			delete(config.RuntimeParams, key)
		}
	}
	return append(mistakes, wrongParameters(name+": the service file", served)...)
}

// askFor gives the session what libpq asks for by variables that pgx does not read.
func askFor(config *pgx.ConnConfig, environ map[string]string) {
	for _, p := range parameters {
		value := strings.TrimSpace(environ[p.variable])
		written := func(name string) bool { return strings.EqualFold(name, p.keyword) } // to the server it is one name
		if p.fate == passed && value != "" && !slices.ContainsFunc(slices.Collect(maps.Keys(config.RuntimeParams)), written) {
			config.RuntimeParams[p.keyword] = value
		}
	}
}

// variablesOfLibpq looks at the variables of libpq: what pgx would take for what it is, as a blank host or a password
// with the line break of the file that it came from, and what it would not obey.
func variablesOfLibpq(environ map[string]string) (mistakes []error) {
	for _, p := range parameters {
		name, value := p.variable, environ[p.variable]
		if name == "" || value == "" {
			continue
		}
		isSecret := strings.Contains(name, "PASSWORD")
		switch i := strings.IndexFunc(value, isControl); {
		case blank(value):
			mistakes = append(mistakes, fmt.Errorf("%s is nothing but white space; unset it", name))
		case i >= 0:
			mistakes = append(mistakes, fmt.Errorf("%s has a control character (%q) in it; take it away", name, value[i:i+1]))
		case isQuoted(value) && !isSecret && name != "PGOPTIONS":
			mistakes = append(mistakes, fmt.Errorf("%s: the quotes around it would be part of it; take them away", name))
		case !isSecret && name != "PGOPTIONS" && (urlWithin.MatchString(value) || passwordPart.MatchString(value)):
			mistakes = append(mistakes, fmt.Errorf("%s holds a connection URL, which belongs into DATABASE_URL or into the file that DATABASE_URL_FILE names", name))
		default:
			if wrong := p.mistake(value); wrong != "" {
				mistakes = append(mistakes, fmt.Errorf("%s %s", name, wrong))
			}
		}
	}
	return mistakes
}
