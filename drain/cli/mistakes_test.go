package cli

import (
	"strings"
	"testing"
)

// Whatever the command, all that is wrong with settings, flags, arguments and the payload is said in one go.
func TestEveryCommandSaysAllMistakes(t *testing.T) {
	for _, test := range []struct {
		args  string
		env   string
		stdin string
		says  []string
	}{
		{"run", "", "", []string{"DATABASE_URL is not set", "no queue has a handler"}},
		{"serve", "EBB_ADDR=x", "", []string{"DATABASE_URL is not set", "no queue has a handler", `EBB_ADDR: "x"`}},
		{"run x --batch= --grace 5", "PGHOSTADDR=::1", "", []string{"run takes no arguments", "--batch is given", `--grace: "5"`, "PGHOSTADDR is not", "DATABASE_URL is not", "no queue"}},
		{"run --max-runtime 5m --job-timeout 10m --max-backoff 1s -- true", "EBB_NO=1", "", []string{"EBB_NO is", "DATABASE_URL is", "no less than --max-runtime 5m0s", "--max-backoff 1s is under EBB_BACKOFF 10s"}},
		{"run --max-runtime x --job-timeout 10h --backoff 2h", "", "", []string{"--max-runtime:", "DATABASE_URL is", "no queue", "EBB_MAX_BACKOFF 1h0m0s is under --backoff 2h"}},
		{"enqueue q {", "", "", []string{"DATABASE_URL is not set", "payload"}},
		{"enqueue q", "EBB_SCHEMA=pg_x", "{", []string{"DATABASE_URL is not set", "EBB_SCHEMA: ", "payload"}},
		{"enqueue q --lines --in 5 --unique-key k", "", "{\n", []string{"DATABASE_URL is not set", "line 1:", "--in: ", "--lines and --unique-key"}},
		{"enqueue", "EBB_LEASE=x", "", []string{"enqueue needs the name of a queue", "DATABASE_URL is not", "EBB_LEASE: "}},
		{"enqueue a b c --at x", "", "", []string{"enqueue takes a queue and one payload", "DATABASE_URL is not", "--at: "}},
		{"migrate x", "EBB_BATCH=x", "", []string{"migrate takes no arguments", "DATABASE_URL is not", "EBB_BATCH: "}},
		{"status x --connect-timeout 5", "", "", []string{"status takes no arguments", "DATABASE_URL is not", "--connect-timeout: "}},
		{"awake x --watch 5", "", "", []string{"awake takes no arguments", "DATABASE_URL is not", "--watch: "}},
		{"plan x --from-history --runs x --price y --run-time z", "", "", []string{"DATABASE_URL is not", `--runs: "x" is not a whole number`, "--price: ", "--run-time: ", `schedule "x"`}},
		{"manifest mars --pods x --name X --backoff 2h", "", "", []string{"manifest needs a platform", "--pods: ", "--name: ", "EBB_SCHEDULE is not", "is under --backoff 2h"}},
		{"try q --job-timeout 5 --backoff 2h", "EBB_LOG=x", "{", []string{"--job-timeout: ", "EBB_LOG: ", `queue "q" has no handler`, "standard input: ", "is under --backoff 2h"}},
		{"run --max-job 3 -x --in --grace 5 --colour=red", "", "", []string{"--max-job; did you mean --max-jobs?", "flag: -x; see ebb run --help", "flag: --in; ", "--colour; see", `--grace: "5"`, "DATABASE_URL is", "no queue"}},
		{"enqueue q {} --in -5s --colour", "", "", []string{"--colour;", `--in: "-5s" is negative`, "DATABASE_URL is"}},
		{"status --database-url postgres://u@h/d --database-url-file /f", "PGHOSTADDR=::1", "", []string{"--database-url and --database-url-file are both given", "PGHOSTADDR is"}},
		{"status --database-url postgres://u@h/d?sslmode=x&hostaddr=y", "PGHOSTADDR=::1", "", []string{"--database-url: sslmode has", "--database-url: hostaddr is", "PGHOSTADDR is"}},
		{"version --jsno", "", "", []string{"unknown flag: --jsno"}},
		{"try", "EBB_LOG=x", "{", []string{"try needs the name", "EBB_LOG: ", "standard input: "}},
	} {
		env := map[string]string{}
		if name, value, is := strings.Cut(test.env, "="); is {
			env[name] = value
		}
		got := setup{env: env, stdin: test.stdin}.ebb(strings.Fields(test.args)...)
		if got.status != refused || got.stdout != "" {
			t.Errorf("%s: exit %d, %s", test.args, got.status, got.stdout)
		}
		for _, text := range test.says {
			if strings.Count(got.stderr, text) != 1 {
				t.Errorf("%s: %q is there %d times in\n%s", test.args, text, strings.Count(got.stderr, text), got.stderr)
			}
		}
		if lines := strings.Count(got.stderr, "\n"); lines != len(test.says) {
			t.Errorf("%s: %d lines, not %d:\n%s", test.args, lines, len(test.says), got.stderr)
		}
	}
}

// A cap under a base is a mistake that names both as they were given, those of single queues too.
func TestBackoffsAgainstTheirCap(t *testing.T) {
	for says, test := range map[string]struct {
		args []string
		env  map[string]string
	}{
		"EBB_MAX_BACKOFF 1h0m0s is under EBB_BACKOFF 2h0m0s":         {[]string{"run", "--", "true"}, map[string]string{"EBB_BACKOFF": "2h"}},
		"--max-backoff 1m0s is under EBB_BACKOFF 2h0m0s":             {[]string{"run", "--max-backoff", "1m", "--", "true"}, map[string]string{"EBB_BACKOFF": "2h"}},
		"EBB_MAX_BACKOFF 1h0m0s is under EBB_QUEUE_A_BACKOFF 2h0m0s": {[]string{"run"}, map[string]string{"EBB_QUEUE_A_BACKOFF": "2h", "EBB_QUEUE_A_COMMAND": "true", "EBB_QUEUE_A_NAME": "Ä"}},
		"EBB_MAX_BACKOFF 5s is under EBB_BACKOFF 10s":                {[]string{"manifest", "systemd"}, map[string]string{"EBB_MAX_BACKOFF": "5s", "EBB_SCHEDULE": "@hourly", "EBB_QUEUE_A_COMMAND": "/bin/true"}},
		"EBB_MAX_BACKOFF 900ms is under 1s":                          {[]string{"try", "q", "--", "true"}, map[string]string{"EBB_MAX_BACKOFF": "900ms"}},
	} {
		test.env["DATABASE_URL"] = nowhere
		got := setup{env: test.env, stdin: "{}"}.ebb(test.args...)
		if got.status != refused || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: "+says) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %s%s", test.args, got.status, got.stdout, got.stderr)
		}
	}
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "1ms", "EBB_MAX_BACKOFF": "1s", "EBB_QUEUE_A_BACKOFF": "1s", "EBB_QUEUE_A_COMMAND": "true"}}.ebb("run")
	if got.status != failed {
		t.Errorf("a cap that is no less than any base in use: exit %d, %s", got.status, got.stderr)
	}
}
