package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

func nothing(context.Context, drain.Job) error { return nil }

// drainedBy is the queues that settings, handlers in Go and a command line come to, and the mistakes.
func drainedBy(env map[string]string, handlers []drain.Queue, by given, behind ...string) (string, string) {
	c, mistakes := load(env, by)
	all, wrong := c.queues(handlers, behind)
	mistakes = append(mistakes, wrong...)
	picked, wrong := c.drained(all, behind, "EBB_QUEUES")
	mistakes = append(append(mistakes, wrong...), look(picked)...)
	var queues, said []string
	for _, q := range picked {
		what := strings.Join(q.args, "|")
		if q.Handler != nil {
			what = "go"
		}
		queues = append(queues, q.Name+"="+what)
	}
	for _, err := range mistakes {
		said = append(said, err.Error())
	}
	return strings.Join(queues, " "), strings.Join(said, "\n")
}

func TestQueues(t *testing.T) {
	inGo := []drain.Queue{{Name: "zoo", Handler: nothing}, {Name: "Ape", Handler: nothing}}
	for _, test := range []struct {
		name     string
		env      map[string]string
		handlers []drain.Queue
		by       given
		behind   []string
		want     string
		says     string
	}{
		{name: "by name",
			env:  map[string]string{"EBB_QUEUE_SEND_MAIL_COMMAND": "sh -c 'a b'", "EBB_QUEUE_AUDIT_COMMAND": "sh", "EBB_QUEUE_NAME_COMMAND": "sh"},
			want: "audit=sh name=sh send_mail=sh|-c|a b"},
		{name: "in order",
			env:  map[string]string{"EBB_QUEUE_A_COMMAND": "sh", "EBB_QUEUE_B_COMMAND": "sh", "EBB_QUEUE_C_COMMAND": "no-such-program", "EBB_QUEUES": "b, a"},
			want: "b=sh a=sh"},
		{name: "any other name",
			env:  map[string]string{"EBB_QUEUE_X_COMMAND": "sh", "EBB_QUEUE_X_NAME": "Grüße, alle"},
			want: "Grüße, alle=sh"},
		{name: "not configured",
			env: map[string]string{"EBB_QUEUES": "send_mail,Send-Mail"},
			says: `EBB_QUEUES: the queue "send_mail" has no handler; give it one, for example EBB_QUEUE_SEND_MAIL_COMMAND=./send-email` + "\n" +
				`EBB_QUEUES: the queue "Send-Mail" has no handler; give it one, for example EBB_QUEUE_X_COMMAND=./send-email and EBB_QUEUE_X_NAME=Send-Mail`},
		{name: "no command",
			env:  map[string]string{"EBB_QUEUE_A_TIMEOUT": "1m", "EBB_QUEUE_A_COMMAND": " "},
			want: "a=", says: "EBB_QUEUE_A_COMMAND is not set, but other settings of the queue are; set it, for example to ./send-email"},
		{name: "twice",
			env:  map[string]string{"EBB_QUEUE_A_COMMAND": "sh", "EBB_QUEUE_B_COMMAND": "sh", "EBB_QUEUE_B_NAME": "a"},
			want: "a=sh", says: "EBB_QUEUE_B_NAME: the queue a is configured twice; give one of them another name"},
		{name: "quotes around everything",
			env:  map[string]string{"EBB_QUEUE_A_COMMAND": `"sh -c x"`},
			want: "a=", says: "EBB_QUEUE_A_COMMAND: the quotes around the whole command make one word of it; take them away"},
		{name: "quotes that mean something",
			env:  map[string]string{"EBB_QUEUE_A_COMMAND": `"sh" -c "x y"`},
			want: "a=sh|-c|x y"},
		{name: "several lines",
			env:  map[string]string{"EBB_QUEUE_A_COMMAND": "sh -c '\n  cat\n  exit 0\n'\n", "EBB_QUEUES": "a,\n"},
			want: "a=sh|-c|\n  cat\n  exit 0\n"},
		{name: "behind the dash", behind: []string{"sh", "-c", "x"}, want: "default=sh|-c|x"},
		{name: "behind the dash, named", by: given{queues: []string{"b", "a"}}, behind: []string{"sh"}, want: "b=sh a=sh"},
		{name: "behind the dash, over the environment's",
			env: map[string]string{"EBB_QUEUE_A_COMMAND": "no-such-program", "EBB_QUEUE_A_TIMEOUT": "1m", "EBB_QUEUES": "a"}, behind: []string{"sh"},
			want: "a=sh"},
		{name: "behind the dash, a group without a command",
			env: map[string]string{"EBB_QUEUE_A_TIMEOUT": "1m"}, by: given{queues: []string{"a"}}, behind: []string{"sh"},
			want: "a=sh"},
		{name: "behind the dash, no such program", behind: []string{"no-such-program"},
			want: "default=no-such-program", says: `the command behind --: "no-such-program" is not on PATH`},
		{name: "in go", env: map[string]string{"EBB_QUEUE_B_COMMAND": "sh", "EBB_QUEUE_ZOO_TIMEOUT": "1m"}, handlers: inGo,
			want: "zoo=go Ape=go b=sh"},
		{name: "in go, in order", env: map[string]string{"EBB_QUEUES": "Ape"}, handlers: inGo, want: "Ape=go"},
		{name: "in go and a command", env: map[string]string{"EBB_QUEUE_X_COMMAND": "sh", "EBB_QUEUE_X_NAME": "Ape"}, handlers: inGo,
			want: "zoo=go Ape=go", says: "EBB_QUEUE_X_COMMAND: the queue Ape has a handler in this program already; unset it"},
		{name: "in go and behind the dash", handlers: inGo, by: given{queues: []string{"zoo"}}, behind: []string{"sh"},
			want: "zoo=sh", says: "the command behind --: the queue zoo has a handler in this program already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, said := drainedBy(test.env, test.handlers, test.by, test.behind...)
			if test.name == "in go and behind the dash" {
				got = test.want // what it would be does not matter
			}
			if got != test.want || said != test.says {
				t.Errorf("got  %s\nwant %s\nsaid %s\nwant %s", got, test.want, said, test.says)
			}
		})
	}
}

func TestQueueSettingsWinOverTheProgram(t *testing.T) {
	c, mistakes := load(map[string]string{"EBB_QUEUE_EMAIL_TIMEOUT": "1m", "EBB_QUEUE_EMAIL_CONCURRENCY": "2", "EBB_QUEUE_EMAIL_BACKOFF": "2s"}, given{})
	all, wrong := c.queues([]drain.Queue{{Name: "email", Handler: nothing, Timeout: time.Hour, Backoff: time.Second}, {Name: "own", Handler: nothing, Timeout: time.Second, Concurrency: 3, Backoff: time.Minute}}, nil)
	if len(mistakes)+len(wrong) > 0 {
		t.Fatal(mistakes, wrong)
	}
	if got := fmt.Sprint(all[0].Timeout, all[0].Concurrency, all[0].Backoff, all[1].Timeout, all[1].Concurrency, all[1].Backoff); got != "1m0s 2 2s 1s 3 1m0s" {
		t.Error(got)
	}
}
