package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Mistakes are said all at once, without a connection, and secrets never.
func TestServeRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"a quoted token", map[string]string{"EBB_TOKEN": `"` + rightToken + `"`}, []string{"EBB_TOKEN is in quotes"}},
		{"a token of two words", map[string]string{"EBB_TOKEN": "0123456789 0123456789"}, []string{"EBB_TOKEN has white space"}},
		{"a token beyond ASCII", map[string]string{"EBB_TOKEN": "0123456789abcdefé"}, []string{"cannot carry"}},
		{"both tokens", map[string]string{"EBB_TOKEN": rightToken, "EBB_TOKEN_FILE": write("good", rightToken)}, []string{"unset one of them"}},
		{"no token file", map[string]string{"EBB_TOKEN_FILE": dir + "/none"}, []string{"EBB_TOKEN_FILE: open"}},
		{"a blank token file", map[string]string{"EBB_TOKEN_FILE": write("blank", " \n")}, []string{"the token in EBB_TOKEN_FILE is blank"}},
		{"a bare port", map[string]string{"EBB_ADDR": "8080", "EBB_TOKEN": rightToken}, []string{`EBB_ADDR: "8080" is not an address and a port; use for example :8080`}},
		{"no port", map[string]string{"EBB_ADDR": "127.0.0.1", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a large port", map[string]string{"EBB_ADDR": ":65536", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a path", map[string]string{"EBB_ADDR": "localhost:80/run", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a strange host", map[string]string{"EBB_ADDR": "a b:80", "EBB_TOKEN": rightToken}, []string{"EBB_ADDR: "}},
		{"a bad PORT", map[string]string{"PORT": "http", "EBB_TOKEN": rightToken}, []string{`PORT: "http"`}},
		{"no such zone", map[string]string{"EBB_SCHEDULE": "0 6 * * *", "TZ": "Mars/Base"}, []string{`TZ: there is no zone "Mars/Base"`}},
		{"all at once", map[string]string{"EBB_SCHEDULE": "nonsense", "EBB_ADDR": "8080", "EBB_TOKEN": "'short'", "EBB_BATCH": "x"},
			[]string{"EBB_SCHEDULE: ", "EBB_ADDR: ", "EBB_TOKEN is in quotes", "EBB_BATCH: "}},
	} {
		env := map[string]string{"DATABASE_URL": nowhere, "EBB_QUEUE_MAIL_COMMAND": "true"}
		for name, value := range test.env {
			env[name] = value
		}
		got := setup{env: env}.ebb("serve")
		for _, want := range test.want {
			if got.status != 78 || !strings.Contains(got.stderr, want) {
				t.Errorf("%s: exit %d, want %q: %s", test.name, got.status, want, got.stderr)
			}
		}
		if secret := strings.TrimSpace(test.env["EBB_TOKEN"]); got.stdout != "" || len(secret) > 9 && strings.Contains(got.stderr, secret[:10]) ||
			strings.Contains(got.stderr, "se-cret") {
			t.Errorf("%s: %s%s", test.name, got.stdout, got.stderr)
		}
	}
	if got := (setup{env: map[string]string{"DATABASE_URL": nowhere}}).ebb("serve", "now"); got.status != 78 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}
