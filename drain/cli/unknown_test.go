package cli

import (
	"fmt"
	"testing"
)

func TestUnknownVariables(t *testing.T) {
	for name, says := range map[string]string{
		"EBB_CONCURENCY":           "EBB_CONCURENCY is not a setting; did you mean EBB_CONCURRENCY?",
		"EBB_MAX_JOB":              "EBB_MAX_JOB is not a setting; did you mean EBB_MAX_JOBS?",
		"EBB_DATABASE_URL":         "EBB_DATABASE_URL is not a setting; did you mean DATABASE_URL?",
		"EBB_COLOUR":               "EBB_COLOUR is not a setting; see ebb run --help",
		"EBB_QUEUE_EMAIL_COMAND":   "EBB_QUEUE_EMAIL_COMAND is not a setting; did you mean EBB_QUEUE_EMAIL_COMMAND?",
		"EBB_QUEUE_SEND_MAIL_NAMS": "EBB_QUEUE_SEND_MAIL_NAMS is not a setting; did you mean EBB_QUEUE_SEND_MAIL_NAME?",
		"EBB_QUEUE":                "EBB_QUEUE is not a setting; did you mean EBB_QUEUES?",
		"EBB_QUEUE_COMMAND":        "EBB_QUEUE_COMMAND names no queue; for the queue default use EBB_QUEUE_DEFAULT_COMMAND",
		"EBB_QUEUE_EMAIL_URL":      "EBB_QUEUE_EMAIL_URL is not a setting; those of a queue end in _COMMAND, _NAME, _TIMEOUT, _CONCURRENCY or _BACKOFF",
		"EBB_JOB_TIMEOUTS":         "EBB_JOB_TIMEOUTS is not a setting; did you mean EBB_JOB_TIMEOUT?",
		// Of features that are not there yet.
		"EBB_KEEP_DONE": "EBB_KEEP_DONE is not a setting; see ebb run --help",
		"EBB_ARCHIVE":   "EBB_ARCHIVE is not a setting; see ebb run --help",
	} {
		if got := unknown(map[string]string{name: "1"}); len(got) != 1 || got[0].Error() != says {
			t.Errorf("got  %v\nwant %s", got, says)
		}
	}
	for _, name := range []string{
		"EBB_JOB_ID", "EBB_JOB_QUEUE", "EBB_JOB_ATTEMPT", "EBB_JOB_MAX_ATTEMPTS", "EBB_JOB_RUN_AT", "EBB_JOB_DEADLINE",
		"EBB_JOB_LAST_ERROR", "EBB_RUN_ID", "EBB_BATCH", "EBB_QUEUE_A_B_COMMAND", "EBBTIDE", "PATH", "DATABASE_URL_REPLICA",
	} {
		if got := unknown(map[string]string{name: "1"}); len(got) > 0 {
			t.Error(got)
		}
	}
}

// Kubernetes sets these in every pod of a namespace that has a service whose name begins with ebb.
func TestServiceLinks(t *testing.T) {
	for _, service := range []string{"EBB", "EBB_API", "EBB_QUEUE_WORKER"} {
		links := map[string]string{
			"_SERVICE_HOST": "10.0.0.1", "_SERVICE_PORT": "8080", "_SERVICE_PORT_HTTP": "8080", "_PORT": "tcp://10.0.0.1:8080",
			"_PORT_8080_TCP": "tcp://10.0.0.1:8080", "_PORT_8080_TCP_PROTO": "tcp", "_PORT_8080_TCP_PORT": "8080",
			"_PORT_8080_TCP_ADDR": "10.0.0.1", "_PORT_53_UDP": "udp://[fd00::1]:53", "_PORT_53_UDP_ADDR": "fd00::1",
		}
		env := map[string]string{}
		for suffix, value := range links {
			env[service+suffix] = value
		}
		if _, mistakes := load(env, given{}); len(mistakes) > 0 {
			t.Error(mistakes)
		}
	}
	for name, value := range map[string]string{"EBB_PORT": "8080", "EBB_SERVICE_HOST": "db", "EBB_SERVICE_PORT": "http"} {
		if got := unknown(map[string]string{name: value}); len(got) != 1 {
			t.Errorf("%s=%s is taken for a service link", name, value)
		}
	}
}

func TestUnknownFlagsAndCommands(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "--max-job", "3"}, "ebb: unknown flag: --max-job; did you mean --max-jobs?\n"},
		{[]string{"run", "--colour"}, "ebb: unknown flag: --colour; see ebb run --help\n"},
		{[]string{"run", "--batch"}, "ebb: flag needs an argument: --batch; see ebb run --help\n"},
		{[]string{"rnu"}, "ebb: there is no command \"rnu\"; did you mean run?\n"},
		{[]string{"frobnicate"}, "ebb: there is no command \"frobnicate\"; see ebb --help\n"},
		{[]string{"run", "x"}, "ebb: run takes no arguments but a command behind --: ebb run --queue email -- ./send-email\n"},
		{[]string{"run", "x", "--", "true"}, "ebb: run takes no arguments but a command behind --: ebb run --queue email -- ./send-email\n"},
		{[]string{"migrate", "x"}, "ebb: migrate takes no arguments; see ebb migrate --help\n"},
		{[]string{"status", "x"}, "ebb: status takes no arguments; see ebb status --help\n"},
		{[]string{"enqueue"}, "ebb: enqueue needs the name of a queue: ebb enqueue email '{\"to\": 1}'\n"},
		{[]string{"try"}, "ebb: try needs the name of one queue: echo '{\"to\": 1}' | ebb try email\n"},
	} {
		right := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_QUEUE_X_COMMAND": "true"}, stdin: "{}"}
		if got := right.ebb(test.args...); got.status != 78 || got.stderr != test.says {
			t.Errorf("ebb %v: exit %d, %swant %s", test.args, got.status, got.stderr, test.says)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		name, want string
		known      []string
	}{
		{"abcdefgx", "abcdefgh", []string{"abcdefgh", "abcdexxx"}},
		{"abcdefgx", "abcdefgh", []string{"abcdexxx", "abcdefgh"}},
		{"abcdefgh", "", []string{"xbcxexgh"}},
		{"abcdefgh", "xbcdexgh", []string{"xbcdexgh"}},
		{"EBB_ab", "EBB_ac", []string{"EBB_ac"}},
		{"EBB_ab", "", []string{"EBB_xy"}},
	} {
		if got := nearest(test.name, test.known); got != test.want {
			t.Errorf("%s in %v: %s, want %s", test.name, test.known, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"", "ab"}: 2, {"kitten", "sitting"}: 3, {"abc", "abc"}: 0, {"abc", "acb"}: 2,
	} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Error(fmt.Sprint(pair), got, "want", want)
		}
	}
}
