//go:build unix

package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe where a file should be is refused at once, whichever setting names it: it could be waited for for ever.
func TestPipesAreNoFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	url := "postgres://u:p@127.0.0.1:1/d"
	for _, test := range []struct {
		env  map[string]string
		args []string
		says string
	}{
		{map[string]string{"DATABASE_URL_FILE": pipe}, []string{"status"}, "DATABASE_URL_FILE: it is a directory, a pipe"},
		{nil, []string{"run", "--database-url-file", pipe, "--", "true"}, "--database-url-file: it is a directory, a pipe"},
		{map[string]string{"DATABASE_URL": url, "EBB_TOKEN_FILE": pipe}, []string{"serve", "--", "true"}, "EBB_TOKEN_FILE: it is a directory, a pipe"},
		{map[string]string{"DATABASE_URL": url + "?sslrootcert=" + pipe}, []string{"status"}, "DATABASE_URL: sslrootcert: it is a directory, a pipe"},
		{map[string]string{"DATABASE_URL": "host=127.0.0.1 passfile=" + pipe}, []string{"status"}, "DATABASE_URL: passfile: it is a directory, a pipe"},
	} {
		if got := (setup{env: test.env}).ebb(test.args...); got.status != 78 || !strings.Contains(got.stderr, test.says) {
			t.Errorf("%v: exit %d, %s", test.args, got.status, got.stderr)
		}
	}
	t.Setenv("PGPASSFILE", pipe)
	if got := (setup{env: map[string]string{"DATABASE_URL": url, "PGPASSFILE": pipe}}).ebb("status"); got.status != 78 || !strings.Contains(got.stderr, "PGPASSFILE: it is a directory, a pipe") {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
}
