package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

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
