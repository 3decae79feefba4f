package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestRedact(t *testing.T) {
	const secret = `p/w:@%41+ "\$x'é` + "\tz"
	quoted, _ := json.Marshal(secret)
	for name, text := range map[string]string{
		"raw":                  secret,
		"query":                url.QueryEscape(secret),
		"path":                 url.PathEscape(secret),
		"user":                 strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
		"lower case":           strings.ToLower(url.QueryEscape(secret)),
		"all of it":            "%70%2F%77%3A%40%25%34%31%2B%20%22%5C%24%78%27%C3%A9%09%7A",
		"JSON":                 strings.Trim(string(quoted), `"`),
		"Go, ASCII":            strings.Trim(strconv.QuoteToASCII(secret), `"`),
		"a shell, single":      strings.ReplaceAll(secret, "'", `'\''`),
		"a shell, dash's way":  strings.ReplaceAll(secret, "'", `'"'"'`),
		"a shell, double":      strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`).Replace(secret),
		"a shell, backslashes": `p/w:@%41+\ \"\\\$x\'é` + "\\\tz",
	} {
		if got := redact("a "+text+" b "+text, asPrinted([]string{secret})); got != "a [redacted] b [redacted]" {
			t.Errorf("%s: %q is left of %q", name, got, text)
		}
	}
	for _, text := range []string{"", "nothing of it", secret[:len(secret)-1], secret[1:], "%", "%7", `\`, "'"} {
		if got := redact(text, asPrinted([]string{secret, "ab", ""})); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := redact("a long one, a lo", asPrinted([]string{"long", "a long one"})); got != "[redacted], a lo" {
		t.Errorf("a secret in a secret: %q", got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("%4", "%41")
	f.Add(`\u00`, "é")
	f.Add(strings.Repeat(`\`, 40), strings.Repeat(`\`, 30))
	f.Fuzz(func(t *testing.T, text, secret string) {
		secrets := asPrinted([]string{secret})
		got := redact(text+secret+text, secrets)
		for _, s := range secrets {
			if !strings.Contains(redacted, s) && !strings.Contains(s, "\x00") && strings.Contains(strings.ReplaceAll(got, redacted, "\x00"), s) {
				t.Errorf("%q is left of %q", got, s)
			}
		}
	})
}

// Whatever ebb knows to be secret, wherever it has it from, reaches neither log nor row nor the next attempt, though the
// handler sees it.
func TestHandlersPrintNoSecretOfEbb(t *testing.T) {
	const password, token = "Zqxvjk%2FWzq", "Tkn0123456789Qzj"
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	for name, of := range map[string]func(plain string) map[string]string{
		"DATABASE_URL": func(plain string) map[string]string {
			return map[string]string{"DATABASE_URL": strings.Replace(plain, "@", ":"+password+"@", 1)}
		},
		"DATABASE_URL_FILE": func(plain string) map[string]string {
			return map[string]string{"DATABASE_URL_FILE": write("url", strings.Replace(plain, "@", ":"+password+"@", 1))}
		},
		"PGPASSWORD": func(plain string) map[string]string {
			t.Setenv("PGPASSWORD", "Zqxvjk/Wzq")
			return map[string]string{"DATABASE_URL": plain, "PGPASSWORD": "Zqxvjk/Wzq"}
		},
		"another's URL": func(plain string) map[string]string {
			t.Setenv("PGPASSWORD", "Zqxvjk/Wzq")
			return map[string]string{"DATABASE_URL": plain, "DATABASE_URL_REPLICA": "postgres://u:" + password + "@replica/d"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := schematest.New(t)
			db := schematest.Connect(t, server)
			u, err := url.Parse(server)
			if err != nil {
				t.Fatal(err)
			}
			role := "known_" + filepath.Base(u.Path)
			do(t, db, fmt.Sprintf(`create role %s login superuser password 'Zqxvjk/Wzq'`, role))
			t.Cleanup(func() {
				if _, err := db.Exec(context.Background(), `drop role `+role); err != nil {
					t.Error(err)
				}
			})
			u.User = url.User(role)
			plain := u.String()
			do(t, db, `insert into ebb.jobs (payload, last_error) values ('{}', 'an older ebb stored Zqxvjk/Wzq')`)
			env := of(plain)
			env["EBB_TOKEN"], env["EBB_QUEUE_DEFAULT_COMMAND"] = token, "sh -c 'env; env >&2; cat \"${DATABASE_URL_FILE:-/dev/null}\" >&2; exit 3'"
			env["EBB_PASS_ENV"] = "DATABASE_URL,DATABASE_URL_FILE,DATABASE_URL_REPLICA,PGPASSWORD,EBB_TOKEN"
			seen := ""
			for range 3 {
				do(t, db, `update ebb.jobs set run_at = now()`)
				got := setup{env: env}.ebb("run")
				if r := got.summary(t); r.Retried != 1 {
					t.Fatalf("exit %d\n%s%s", got.status, got.stdout, got.stderr)
				}
				seen += got.stdout + got.stderr + text(t, db, `select last_error from ebb.jobs`)
			}
			got := setup{env: env, stdin: "{}"}.ebb("try", "default")
			seen += got.stdout + got.stderr
			for _, piece := range []string{"Zqx", "xvj", "Wzq", "Tkn01", "Qzj"} {
				if i := strings.Index(seen, piece); i >= 0 {
					t.Errorf("%q is seen: %.300s", piece, seen[max(0, i-100):])
				}
			}
			if !strings.Contains(seen, "EBB_TOKEN="+redacted) {
				t.Error("the handler was not given what it may see")
			}
			if size := text(t, db, `select octet_length(last_error)::text from ebb.jobs`); len(size) > 4 {
				t.Errorf("last_error has %s bytes", size)
			}
		})
	}
}

// A password that changes while a run lasts is secret before and after.
func TestRedactFollowsTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	write := func(password string) {
		if err := os.WriteFile(file, []byte("postgres://u:"+password+"@h/d\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("the-first-one")
	redact := (&program{}).redactor(Config{DatabaseURLFile: file})
	write("another-one")
	for late := time.Now().Add(20 * time.Second); redact("another-one") != redacted; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the password that is there now is not known")
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := redact("the-first-one, another-one"); got != redacted+", "+redacted {
		t.Error(got)
	}
}
