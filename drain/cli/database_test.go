package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// read gives the mistakes about the database, or the host and database that it was read as.
func readDatabase(t *testing.T, env map[string]string, flags map[string]string) (where string, mistakes []string) {
	t.Helper()
	by := given{flags: flags}
	c, wrong := load(env, by)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	from, wrong := c.database(env, by)
	for _, err := range wrong {
		mistakes = append(mistakes, err.Error())
	}
	if len(wrong) > 0 {
		return "", mistakes
	}
	config, err := from()
	if err != nil {
		t.Fatal(err)
	}
	return config.User + ":" + config.Password + "@" + config.Host + "/" + config.Database, nil
}

// What a secret brings along is no part of it, or is refused by name.
func TestDatabaseURL(t *testing.T) {
	const url = "postgres://joe:secretive@db.example/jobs"
	for _, value := range []string{url, url + "\n", url + "\r\n", " " + url, "\t" + url + " ", "user=joe password=secretive host=db.example dbname=jobs",
		`user=joe password='secretive' host=db.example dbname=jobs options='-c a.b=x\\ y'`, `user=joe password=secre\tive host=db.example dbname=jobs options=-c\ a.b=1`,
		"application_name=shop user=joe password=secretive host=db.example dbname=jobs", "statement_timeout = 5s user=joe password=secretive host=db.example dbname=jobs"} {
		if where, mistakes := readDatabase(t, map[string]string{"DATABASE_URL": value}, nil); where != "joe:secretive@db.example/jobs" {
			t.Errorf("%q: %s %v", value, where, mistakes)
		}
	}
	for value, says := range map[string]string{
		"":                    "DATABASE_URL is there but blank",
		" \n":                 "DATABASE_URL is there but blank",
		`"` + url + `"`:       `DATABASE_URL begins with a quote ("\"")`,
		"'" + url + "'\n":     `DATABASE_URL begins with a quote ("'")`,
		`"` + url:             `DATABASE_URL begins with a quote ("\"")`,
		"postgres://a\nb@c/d": `DATABASE_URL has a control character ("\n") in it`,
		"postgres://joe:secre@tive@db.example/jobs":             "DATABASE_URL has an @ in its host",
		"postgres://joe:secre tive@db.example/jobs":             "DATABASE_URL has white space in it",
		"DATABASE_URL=postgres://joe:secretive@db/jobs":         "DATABASE_URL is not a connection URL",
		"secretive.secretive=":                                  "DATABASE_URL is not a connection URL",
		"jdbc:postgresql://db/jobs?user=joe&password=secretive": "DATABASE_URL is not a connection URL",
		"jobs":                                  "DATABASE_URL is not a connection URL; for example postgres://",
		"mysql://joe:secretive@db.example/jobs": "DATABASE_URL is not a connection URL",
		"postgres://joe:secretive/pass@db.example:5432/jobs":                                  "DATABASE_URL has a port that is not a number",
		"postgres://joe:secretive@db.example:99999/jobs":                                      "DATABASE_URL has a port that is not a number",
		"postgres://joe:5432/secretive@db.example/jobs":                                       "DATABASE_URL has an @ behind its host; in a user or password write / as %2F",
		"postgres://joe:5432?secretive@db.example/jobs":                                       "DATABASE_URL has an @ behind its host; in a user or password write / as %2F",
		"postgres://joe:5432#secretive@db.example/jobs":                                       "DATABASE_URL has an @ behind its host",
		"postgres://joe:secretive@db.example/jobs#secretive":                                  "DATABASE_URL has a #; in a user",
		"postgres://joe:secre%tive@db.example/jobs":                                           "DATABASE_URL has a % that begins no escape",
		"host=h dbname='host=x password=secretive'":                                           "DATABASE_URL leads to a database's name that holds a connection URL",
		"host=h dbname=postgres://joe:secretive@x/y":                                          "DATABASE_URL leads to a database's name that holds a connection URL",
		"postgres://joe:secretive@[::1/jobs":                                                  "DATABASE_URL is not a valid connection URL",
		"postgres://joe:secretive@db.example/jobs?sslmode=secretive":                          "DATABASE_URL: sslmode has a value that ebb does not obey; use disable, allow, prefer, require, verify-ca or verify-full",
		"postgres://joe:secretive@db.example/jobs?connect_timeout=secre":                      "DATABASE_URL: connect_timeout is not a number of seconds",
		"postgres://joe:secretive@db.example/jobs?sslmode=verify-full&sslrootcert=/secretive": "DATABASE_URL names a certificate or key",
		"postgres://joe:secretive@db.example/jobs?service=secretive":                          "DATABASE_URL names a service",
	} {
		where, mistakes := readDatabase(t, map[string]string{"DATABASE_URL": value}, nil)
		if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], says) {
			t.Errorf("%q: %s %q", value, where, mistakes)
		}
		for _, piece := range []string{"secre", "joe", "example/jobs", "tive"} {
			if strings.Contains(value, piece) && len(mistakes) > 0 && strings.Contains(mistakes[0], piece) {
				t.Errorf("a piece of the URL is in %q", mistakes[0])
			}
		}
	}
}

// Never a connection to what the environment happens to name as well.
func TestBlankDatabaseURLConnectsNowhere(t *testing.T) {
	t.Setenv("PGHOST", "127.0.0.1")
	t.Setenv("PGUSER", "joe")
	for _, command := range [][]string{{"run", "--", "sh"}, {"migrate"}, {"enqueue", "email", "{}"}, {"status"}} {
		for _, name := range []string{"DATABASE_URL", "DATABASE_URL_FILE"} {
			for _, value := range []string{"", " ", "\n"} {
				got := setup{env: map[string]string{name: value, "PGHOST": "127.0.0.1", "PGUSER": "joe"}}.ebb(command...)
				if got.status != 78 || got.stdout != "" || lineOf(got.stderr, name) == "" {
					t.Errorf("%v with %s=%q: exit %d, %s", command, name, value, got.status, got.stderr)
				}
			}
		}
		if got := (setup{}).ebb(command...); got.status != 78 || lineOf(got.stderr, "DATABASE_URL") == "" {
			t.Errorf("%v without a database: exit %d, %s", command, got.status, got.stderr)
		}
	}
}

func TestDatabaseFromLibpqsVariables(t *testing.T) {
	for name, value := range map[string]string{"PGHOST": "db.example", "PGUSER": "joe", "PGPASSWORD": "word", "PGDATABASE": "jobs"} {
		t.Setenv(name, value)
	}
	if where, mistakes := readDatabase(t, map[string]string{"PGHOST": "db.example"}, nil); where != "joe:word@db.example/jobs" {
		t.Error(where, mistakes)
	}
	for value, says := range map[string]string{
		"secretive\n": `has a control character ("\n") in it; take it away`,
		" ":           "is nothing but white space; unset it",
	} {
		for _, p := range parameters {
			name := p.variable
			if name == "" {
				continue
			}
			_, mistakes := readDatabase(t, map[string]string{"DATABASE_URL": nowhere, name: value}, nil)
			if len(mistakes) != 1 || mistakes[0] != name+" "+says {
				t.Errorf("%s=%q: %q", name, value, mistakes)
			}
		}
	}
	if _, mistakes := readDatabase(t, map[string]string{"PGHOST": `"db.example"`}, nil); len(mistakes) != 1 {
		t.Errorf("quotes: %q", mistakes)
	}
	if _, mistakes := readDatabase(t, map[string]string{"PGHOST": "db.example", "PGPASSWORD": `"quoted"`}, nil); len(mistakes) != 0 {
		t.Errorf("a password with quotes: %q", mistakes)
	}
}

func TestDatabaseURLFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"DATABASE_URL_FILE": file}
	if _, mistakes := readDatabase(t, env, nil); len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], "DATABASE_URL_FILE: ") {
		t.Errorf("no file: %q", mistakes)
	}
	write(" \n")
	if _, mistakes := readDatabase(t, env, nil); len(mistakes) != 1 || !strings.Contains(mistakes[0], "is empty") {
		t.Errorf("an empty file: %q", mistakes)
	}
	write("postgres://joe:one@db.example/jobs\n")
	c, _ := load(env, given{})
	from, mistakes := c.database(env, given{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	for _, password := range []string{"one", "two"} {
		write("postgres://joe:" + password + "@db.example/jobs\n")
		if config, err := from(); err != nil || config.Password != password {
			t.Errorf("%v, %v; want the password %s", config, err, password)
		}
	}

	both := map[string]string{"DATABASE_URL": nowhere, "DATABASE_URL_FILE": file}
	if _, mistakes := readDatabase(t, both, nil); len(mistakes) != 1 {
		t.Errorf("both: %q", mistakes)
	}
	if where, _ := readDatabase(t, both, map[string]string{"DATABASE_URL_FILE": file}); where != "joe:two@db.example/jobs" {
		t.Errorf("the flag does not win: %s", where)
	}
	if where, _ := readDatabase(t, map[string]string{"DATABASE_URL": " ", "DATABASE_URL_FILE": file},
		map[string]string{"DATABASE_URL": "postgres://flag@db.example/jobs"}); where != "flag:@db.example/jobs" {
		t.Errorf("the flag does not win: %s", where)
	}
}
