package cli

import (
	"strings"
	"testing"
)

// What stands before -- and after it, in every command that takes one there.
func TestAtDash(t *testing.T) {
	base := map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "10ms", "EBB_SCHEDULE": "0 6 * * *", "EBB_ADDR": "192.0.2.1:80"}
	for _, test := range []struct {
		args   string
		status int
		want   string // of what is printed
	}{
		{"run now", 78, "run takes no arguments but a command behind --: ebb run --queue email -- ./send-email"},
		{"run now -- sh", 78, "run takes no arguments but a command behind --"},
		{"run -- no-such-program sh", 78, "no-such-program"},
		{"run -- sh", 1, `"stopped":"error"`},
		{"run --", 78, "no queue has a handler"},
		{"serve now", 78, "serve takes no arguments but a command behind --: ebb serve --queue email -- ./send-email"},
		{"serve now -- sh", 78, "serve takes no arguments but a command behind --"},
		{"serve -- no-such-program sh", 78, "no-such-program"},
		{"serve -- sh", 1, "the address 192.0.2.1:80"},
		{"serve --", 78, "no queue has a handler"},
		{"manifest github", 0, "EBB_SCHEDULE"},
		{"manifest github --", 0, "EBB_SCHEDULE"},
		{"manifest github -- a-program", 0, "a-program"},
		{"manifest github lambda", 78, "manifest needs a platform"},
		{"manifest github lambda -- a-program", 78, "manifest needs a platform"},
		{"manifest -- github", 78, "manifest needs a platform"},
		{"manifest -- github a-program", 78, "manifest needs a platform"},
		{"try mail -- cat", 0, "stdout: {}"},
		{"try mail", 78, "mail"},
		{"try mail sh", 78, "try needs the name of one queue"},
		{"try -- sh", 78, "try needs the name of one queue"},
		{"try -- sh -c :", 78, "try needs the name of one queue"},
	} {
		got := setup{env: base, stdin: "{}"}.ebb(strings.Fields(test.args)...)
		if got.status != test.status || !strings.Contains(got.stdout+got.stderr, test.want) {
			t.Errorf("ebb %s: exit %d, want %d and %q: %s%s", test.args, got.status, test.status, test.want, got.stdout, got.stderr)
		}
	}
}
