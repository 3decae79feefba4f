package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// argumentsOf are arguments with which a command has no mistake in what comes behind its flags.
var argumentsOf = map[string][]string{
	"enqueue": {"q", "{}"}, "try": {"q", "--", "true"}, "run": {"--", "true"}, "serve": {"--", "true"},
	"manifest": {"systemd", "--", "/bin/true"}, "plan": {"@hourly"},
}

// Every flag of every command, whatever kind it is of.
func TestBlankFlags(t *testing.T) {
	address, came := visited(t)
	p := &program{}
	seen := 0
	for _, c := range p.tree(nil).Commands() {
		each := func(c *cobra.Command, f *pflag.Flag) {
			for _, value := range []string{"", "  ", "\t"} {
				seen++
				args := append([]string{c.Name(), "--" + f.Name + "=" + value}, argumentsOf[c.Name()]...)
				got := setup{env: map[string]string{"DATABASE_URL": "postgres://u@" + address + "/d", "EBB_CONNECT_TIMEOUT": "1ms", "EBB_SCHEDULE": "@hourly"}, stdin: "{}"}.ebb(args...)
				if want := "--" + f.Name + " is given but blank; give it a value, or leave it out"; got.status != refused || got.stdout != "" || !strings.Contains(got.stderr, "ebb: "+want+"\n") {
					t.Errorf("%q: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
				}
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { each(c, f) })
	}
	if seen < 300 || came() > 0 {
		t.Errorf("%d flags were tried, and the database was asked %d times", seen, came())
	}
	for _, args := range [][]string{{"run", "--batch", "", "--batch", "5", "--", "true"}, {"run", "--queue", "a", "--queue", "", "--", "true"}} {
		got := setup{env: map[string]string{"DATABASE_URL": nowhere}}.ebb(args...)
		if got.status != refused || !strings.Contains(got.stderr, "is given but blank") {
			t.Errorf("%q: exit %d, %s", args, got.status, got.stderr)
		}
	}
}

func TestBlankArguments(t *testing.T) {
	for _, args := range [][]string{
		{"enqueue", ""}, {"enqueue", " ", "{}"}, {"enqueue", "q", ""}, {"enqueue", "q", " "}, {"try", ""}, {"try", "", "--", "true"}, {"try", " "},
		{"manifest", ""}, {"manifest", "", "--", "true"}, {"plan", ""}, {"plan", "@hourly", " "}, {"run", ""}, {"run", "--", ""}, {"serve", "--", " "},
		{"migrate", ""}, {"status", ""}, {"awake", ""}, {"demo", ""}, {"version", ""}, {""}, {" "},
	} {
		for _, env := range []map[string]string{{}, {"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "1ms", "EBB_SCHEDULE": "@hourly"}} {
			got := setup{env: env, stdin: "{}"}.ebb(args...)
			if got.status != refused || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: ") || strings.Contains(got.stderr, "panic") {
				t.Errorf("%q: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
			}
		}
	}
}

// A shell's empty variable hands no job of another queue to the command.
func TestRunOfABlankQueueTakesNothing(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload) values ('default', '1'), ('a', '2'), ('b', '3'), ('a,b', '4')`)
	for _, test := range []struct {
		env  map[string]string
		args []string
		done string
	}{
		{nil, []string{"--queue", "", "--", "true"}, ""},
		{map[string]string{"EBB_QUEUE_A_COMMAND": "true"}, []string{"--queue", ""}, ""},
		{map[string]string{"EBB_QUEUES": "a"}, []string{"--queue", " ", "--", "true"}, ""},
		{nil, []string{"--queue", ",", "--", "true"}, ""},
		{map[string]string{"EBB_QUEUES": " , "}, []string{"--", "true"}, ""},
		{nil, []string{"--queue", `a\,b`, "--", "true"}, "a,b"},
		{nil, []string{"--queue", "a,b", "--", "true"}, "a a,b b"},
	} {
		if test.env == nil {
			test.env = map[string]string{}
		}
		test.env["DATABASE_URL"] = url
		got := setup{env: test.env}.ebb(append([]string{"run"}, test.args...)...)
		if want := test.done == ""; (got.status == refused) != want {
			t.Errorf("%v: exit %d, %s", test.args, got.status, got.stderr)
		}
		if done := text(t, db, `select coalesce(string_agg(queue, ' ' order by queue collate "C"), '') from ebb.jobs where status = 'done'`); done != test.done {
			t.Errorf("%v: done %q, want %q", test.args, done, test.done)
		}
	}
}

// What the flag says and what the variable says is read alike.
func TestQueueFlagIsReadAsItsVariable(t *testing.T) {
	for _, value := range []string{"a", "a,b", " b , a ", `a\,b`, `a\,b,c`, "a,,b,", `'a'`, ",", `\,`, `a\b`, `a\\,b`} {
		byFlag, wrongFlag := load(map[string]string{}, given{queues: []string{value}})
		byVariable, wrongVariable := load(map[string]string{"EBB_QUEUES": value}, given{})
		if a, b := strings.Join(byFlag.Queues, "|"), strings.Join(byVariable.Queues, "|"); a != b || len(wrongFlag) != len(wrongVariable) {
			t.Errorf("%s: %q %v, %q %v", value, a, wrongFlag, b, wrongVariable)
		}
	}
	c, _ := load(map[string]string{}, given{queues: []string{`x\,y,z`, "w"}})
	if got := strings.Join(c.Queues, "|"); got != "x,y|z|w" {
		t.Error(got)
	}
}
