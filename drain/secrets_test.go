package drain

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

func TestSecretsAreTakenOut(t *testing.T) {
	for _, test := range []struct{ secret, text, want string }{
		{"hunter2hunter2", "xhunter2hunter2y", "x[redacted]y"},
		{"a/b c@d", `a/b c@d a%2Fb%20c%40d a%2Fb+c%40d a%2fb%20c%40d`, "[redacted] [redacted] [redacted] [redacted]"},
		{`q"u\o`, `q"u\o "q\"u\\o"`, `[redacted] "[redacted]"`},
		{"it's", "it's 'it''s'", "[redacted] '[redacted]'"},
		{"<&>", `{"x":"\u003c\u0026\u003e"}`, `{"x":"[redacted]"}`},
		{"\xff\xfe\xfd", "a \xff\xfe\xfd b", "a [redacted] b"},
		{"word\n", "word\n and word", "[redacted] and [redacted]"},
		// What could be an ordinary word.
		{"hunter", `hunters hunter, "hunter"; _hunter`, `hunters [redacted], "[redacted]"; _hunter`},
		{"hunter", "hunterhunter hunter", "hunterhunter [redacted]"},
		{"password", `password authentication failed for user "password", joe:password@db`, `password authentication failed for user "[redacted]", joe:[redacted]@db`},
		{"postgres", `role "postgres" of postgres`, `role "[redacted]" of postgres`},
		{"a", `a "a" cat`, `a "[redacted]" cat`},
		{"Zqxvjk", "xZqxvjky", "x[redacted]y"},
		{" ", "a b", "a b"}, {"", "a b", "a b"},
	} {
		var s Secrets
		s.Learn(test.secret)
		if got := s.Redact(test.text); got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.secret, test.text, got, test.want)
		}
	}
	var s Secrets
	s.Learn("secretive", "secretive-longer")
	if got := s.Redact("secretive-longer secretive"); got != "[redacted] [redacted]" {
		t.Error(got)
	}
	if got := (*Secrets)(nil).Redact("x"); got != "x" {
		t.Error(got)
	}
}

func TestSecretsOfAConfiguration(t *testing.T) {
	for _, test := range []struct{ url, text, want string }{
		{"postgres://joe:pass%2Fw0rd@db.example/jobs", `role "joe" of db.example, jobs: pass/w0rd pass%2Fw0rd`, `role "joe" of db.example, jobs: [redacted] [redacted]`},
		{"postgres://joe:joe@db.example/jobs", `role "joe" does not exist`, `role "[redacted]" does not exist`},
		{"postgres://s3cr3tt0k3n", "lookup s3cr3tt0k3n: no such host", "lookup [redacted]: no such host"},
		{"postgres://127.0.0.1/x", "dial tcp 127.0.0.1:5432", "dial tcp 127.0.0.1:5432"},
		{"postgres://joe@h/x?options=-c%20a.b%3DSECRET1", `invalid value for "a.b": "SECRET1"`, `invalid value for "a.b": "[redacted]"`},
		{"postgres://joe@h/jobs?search_path=jobs", `database "jobs" does not exist`, `database "jobs" does not exist`},
		{"host=h user=joe password='p w0rd!'", "p w0rd! of joe", "[redacted] of joe"},
	} {
		config, err := pgx.ParseConfig(test.url)
		if err != nil {
			t.Fatal(err)
		}
		var s Secrets
		s.LearnFrom(config)
		if got := s.Redact(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.url, got, test.want)
		}
	}
}

// Whatever a secret and a text are: no panic, no secret that could not be a word is left, valid text stays valid, and what
// has no secret stays as it is.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"hunter2hunter2", "\xff", "p%2F", `"`, "a", "[redacted]", "(", "\\", "é'", "%zz", "password"} {
		f.Add(s, "before ", " after")
		f.Add(s, "\""+s, "\xff\"")
	}
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		var s Secrets
		s.Learn(secret)
		s.LearnURL("postgres://" + secret + ":" + secret + "@h/d?password=" + secret)
		if !strings.Contains(before+after, secret) {
			quoted := strconv.Quote(secret)
			for _, written := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1]} {
				got := s.Redact(before + written + after)
				if findingOf(secret) == anywhere && strings.TrimSpace(secret) == secret && !strings.Contains(redacted, secret) && !strings.Contains(before+redacted+after, secret) && strings.Contains(got, secret) {
					t.Errorf("%q is left in %q", secret, got)
				}
				if utf8.ValidString(secret) && utf8.ValidString(before) && utf8.ValidString(after) && !utf8.ValidString(got) {
					t.Errorf("%q and %q became %q", secret, before+written+after, got)
				}
			}
		}
		var none Secrets
		if text := before + after; none.Redact(text) != text {
			t.Errorf("%q is another without a secret", text)
		}
	})
}
