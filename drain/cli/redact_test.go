package cli

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A database that repeats what it was told, in whatever it says, comes through in none of the outputs.
func TestWhatTheDatabaseRepeatsIsNotPrinted(t *testing.T) {
	plain := schematest.New(t)
	db := schematest.Connect(t, plain)
	password := secretLeft + "/'" + secretRight
	u, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	role := "told_" + strings.TrimPrefix(u.Path, "/")
	do(t, db, `create role "`+role+`" superuser login password '`+strings.ReplaceAll(password, "'", "''")+`'`)
	t.Cleanup(func() {
		if _, err := db.Exec(context.Background(), `drop role "`+role+`"`); err != nil {
			t.Error(err)
		}
	})
	u.User = url.UserPassword(role, password)
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&password="+url.PathEscape(password), "&")
	passfile := filepath.Join(t.TempDir(), "passfile")
	if err := os.WriteFile(passfile, []byte("*:*:*:*:"+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says := `
		create function public.tell() returns trigger language plpgsql as $$ begin raise exception 'told % and %', '` + strings.ReplaceAll(password, "'", "''") + `', '` + url.QueryEscape(password) + `'; end $$;`
	do(t, db, says)
	do(t, db, `insert into ebb.jobs_runs (id, host, version, started_at, stopped, error) values ('`+strings.Repeat("0", 32)+`', 'h', 'v', now(), 'error', 'was told `+strings.ReplaceAll(password, "'", "''")+`')`)
	do(t, db, `create trigger tell before insert on ebb.jobs_runs for each row execute function public.tell()`)
	do(t, db, `create trigger tell before insert on ebb.jobs for each row execute function public.tell()`)
	file, summary := filepath.Join(t.TempDir(), "url"), filepath.Join(t.TempDir(), "summary")
	if err := os.WriteFile(file, []byte(u.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	without := *u
	without.User, without.RawQuery = url.User(u.User.Username()), strings.Split(u.RawQuery, "&password=")[0]
	without.RawQuery = strings.TrimPrefix(without.RawQuery+"&passfile="+passfile, "&")
	for way, env := range map[string]map[string]string{
		"in the URL": {"DATABASE_URL": u.String()}, "in a file": {"DATABASE_URL_FILE": file}, "in a passfile": {"DATABASE_URL": without.String()},
	} {
		env["EBB_SUMMARY_FILE"], env["EBB_LOG_LEVEL"] = summary, "debug"
		for _, form := range []string{"text", "json"} {
			env["EBB_LOG"] = form
			for _, args := range [][]string{{"run", "--", "true"}, {"enqueue", "q", "{}"}, {"status"}, {"status", "--json"}} {
				got := setup{env: env}.ebb(args...)
				got.quietly(t, "%s, %v", way, args)
				if !strings.Contains(got.stdout+got.stderr, "told "+redacted) {
					t.Errorf("%s, %v: nothing was told: %s%s", way, args, got.stdout, got.stderr)
				}
			}
			if text, _ := os.ReadFile(summary); leaked(string(text)) != "" || !strings.Contains(string(text), redacted) {
				t.Errorf("%s: the summary's file has %s", way, text)
			}
		}
	}
}

// An error that names the user is of use only where it does.
func TestUserIsNamed(t *testing.T) {
	u, err := url.Parse(schematest.Direct(schematest.New(t))) // CI's pooler lets everybody in
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("nobody-here")
	for _, args := range [][]string{{"run", "--", "true"}, {"status"}} {
		if got := (setup{env: map[string]string{"DATABASE_URL": u.String()}}).ebb(args...); got.status != failed || !strings.Contains(got.stdout+got.stderr, "nobody-here") {
			t.Errorf("%v: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
		}
	}
}

// What is written where a user stands need be no text.
func TestUserThatIsNotUTF8(t *testing.T) {
	for _, user := range []string{"%ff%fe%fd", "(%5B", "%5C"} {
		got := setup{env: map[string]string{"DATABASE_URL": "postgres://" + user + ":p@" + echoing(t, "28P01") + "/jobs?sslmode=disable"}}.ebb("status")
		if got.status != failed || strings.Contains(got.stderr, "panic") {
			t.Errorf("%s: exit %d, %s", user, got.status, got.stderr)
		}
	}
}

// Nobody knows which part of a text that cannot be read is the secret.
func TestUnreadableURLIsASecret(t *testing.T) {
	var s drain.Secrets
	for _, text := range []string{"k-" + secretLeft + " " + secretRight, "mysql://u@h/" + secretLeft} {
		if _, err := (Config{secrets: &s}).parseURL("DATABASE_URL", text); err == nil {
			t.Fatal(text)
		}
		if got := s.Redact("told " + text + "."); got != "told "+redacted+"." {
			t.Error(got)
		}
	}
}
