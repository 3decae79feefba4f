package cli

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// nowhere is a database that refuses every connection: a test that reaches it has found that the settings are good.
const nowhere = "postgres://user@127.0.0.1:1/jobs"

func TestFlagsAreDerived(t *testing.T) {
	for variable, flag := range map[string]string{
		"DATABASE_URL": "database-url", "EBB_MAX_JOBS": "max-jobs", "EBB_QUEUES": "queue", "EBB_STRICT": "strict",
		"EBB_QUEUE_<Q>_TIMEOUT": "",
	} {
		found := false
		for _, s := range Settings() {
			if s.Variable == variable {
				found = true
				if s.Flag != flag {
					t.Errorf("the flag of %s is %q, want %q", variable, s.Flag, flag)
				}
			}
		}
		if !found {
			t.Errorf("there is no setting %s", variable)
		}
	}
}

func TestEverySettingIsExplained(t *testing.T) {
	p := &program{}
	run, serve := p.runCommand(), p.serveCommand()
	for _, s := range Settings() {
		if s.Help == "" || s.example == "" {
			t.Errorf("%s has no help or no example", s.Variable)
		}
		if s.Flag != "" && run.Flags().Lookup(s.Flag) == nil && serve.Flags().Lookup(s.Flag) == nil {
			t.Errorf("neither run nor serve has a flag --%s", s.Flag)
		}
	}
}

// The examples are what messages tell people to use.
func TestExamplesAreGood(t *testing.T) {
	env := map[string]string{}
	for _, s := range configSettings() {
		if s.Variable != "DATABASE_URL_FILE" {
			env[s.Variable] = s.example
		}
	}
	for _, s := range groupSettings() {
		env[strings.Replace(s.Variable, "<Q>", "EMAIL", 1)] = s.example
	}
	c, mistakes := load(env, given{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if c.Groups["EMAIL"].Name != "Send-Mail" || c.JobTimeout != 5*time.Minute || !reflect.DeepEqual(c.Queues, list{"urgent", "email"}) {
		t.Errorf("read %+v", c)
	}
}

// A blank variable is an unset one, for every setting but where the database is; a blank flag is a mistake.
func TestBlankIsUnset(t *testing.T) {
	want, mistakes := load(map[string]string{}, given{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	for _, value := range []string{"", " ", "\t\n"} {
		for _, s := range Settings() {
			name := strings.Replace(s.Variable, "<Q>", "EMAIL", 1)
			got, mistakes := load(map[string]string{name: value}, given{})
			if len(mistakes) > 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%s=%q: %v", name, value, mistakes)
			}
			if s.Flag == "" || s.Flag == "queue" {
				continue
			}
			_, mistakes = load(map[string]string{}, given{flags: map[string]string{name: value}})
			if len(mistakes) != 1 {
				t.Errorf("--%s=%q: %v", s.Flag, value, mistakes)
			}
		}
	}
	if got, mistakes := load(map[string]string{"EBB_UNKNOWN": " "}, given{}); len(mistakes) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("a blank unknown variable: %v", mistakes)
	}
}

func TestFlagsWin(t *testing.T) {
	env := map[string]string{"EBB_BATCH": "7", "EBB_LINGER": "1h", "EBB_QUEUES": "a,b", "EBB_GRACE": "nonsense"}
	c, mistakes := load(env, given{
		flags:  map[string]string{"EBB_BATCH": "8", "EBB_LINGER": "0", "EBB_GRACE": "9s"},
		queues: []string{`b\,c`, "d,e"},
	})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if c.Batch != 8 || c.Linger != 0 || c.Grace != 9*time.Second || !reflect.DeepEqual(c.Queues, list{"b,c", "d", "e"}) {
		t.Errorf("read %+v", c)
	}
	_, mistakes = load(map[string]string{}, given{flags: map[string]string{"EBB_GRACE": "9"}})
	if len(mistakes) != 1 || mistakes[0].Error() != `--grace: "9" has no unit; use 9s` {
		t.Errorf("a bad flag: %v", mistakes)
	}
}

func TestValues(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"EBB_BATCH", "ten", `EBB_BATCH: "ten" is not a whole number; use for example 10`},
		{"EBB_BATCH", "0", "EBB_BATCH: 0 makes no sense here; use for example 10"},
		{"EBB_BATCH", "-1", "EBB_BATCH: -1 is negative; use for example 10"},
		{"EBB_BATCH", "1e3", `EBB_BATCH: "1e3" is not a whole number; use for example 10`},
		{"EBB_BATCH", "10001", "EBB_BATCH: 10001 is too large: the most is 10000; use for example 10"},
		{"EBB_MAX_JOBS", "99999999999999999999", "EBB_MAX_JOBS: 99999999999999999999 is too large; use for example 1000"},
		{"EBB_CONCURRENCY", `"5"`, `EBB_CONCURRENCY: the quotes in "5" would be part of the value; take them away`},
		{"EBB_CONCURRENCY", " 5\n", ""},
		{"EBB_STRICT", "yes", `EBB_STRICT: "yes" is neither true nor false; use for example true`},
		{"EBB_STRICT", "1", ""},
		{"EBB_LOG", "xml", `EBB_LOG: "xml" is neither text nor json; use for example json`},
		{"EBB_LOG_LEVEL", "loud", `EBB_LOG_LEVEL: "loud" is none of debug, info, warn and error; use for example debug`},
		{"EBB_LOG_LEVEL", "info", ""},
		{"EBB_SCHEMA", "pg_jobs", `EBB_SCHEMA: schema name "pg_jobs": Postgres keeps names that begin with pg_ for itself`},
		{"EBB_SCHEMA", `we"ird $x`, ""},
		{"EBB_QUEUES", `mailer,"urgent"`, `EBB_QUEUES: the quotes in "urgent" would be part of the name; take them away`},
		{"EBB_QUEUES", " urgent , email,", ""},
		{"EBB_QUEUE_A_CONCURRENCY", "many", `EBB_QUEUE_A_CONCURRENCY: "many" is not a whole number; use for example 2`},
		{"EBB_QUEUE_A_NAME", `"mailer"`, `EBB_QUEUE_A_NAME: the quotes in "mailer" would be part of the value; take them away`},
		{"EBB_SUMMARY_FILE", "a\nb", `EBB_SUMMARY_FILE: there is a control character in "a\nb"; take it away`},
		{"EBB_QUEUES", "a\nb", `EBB_QUEUES: there is a control character in "a\nb"; separate names with commas`},
		{"EBB_PASS_ENV", "PGHOST PGUSER", `EBB_PASS_ENV: "PGHOST PGUSER" is not a variable's name; separate names with commas`},
		{"EBB_PASS_ENV", "PGHOST,PGUSER", ""},
	} {
		_, mistakes := load(map[string]string{test.name: test.value}, given{})
		said := ""
		if len(mistakes) > 0 {
			said = mistakes[0].Error()
		}
		if said != test.says {
			t.Errorf("%s=%q:\n got %s\nwant %s", test.name, test.value, said, test.says)
		}
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	got := setup{env: map[string]string{
		"DATABASE_URL": " ", "EBB_LEASE": "30", "EBB_BATCH": "x", "EBB_CONCURENCY": "4", "PGPASSWORD": "secret\n",
		"EBB_QUEUE_A_COMMAND": "no-such-program", "EBB_QUEUE_B_COMMAND": `"x`, "EBB_QUEUE_C_TIMEOUT": "1m", "EBB_QUEUES": "a,d",
	}}.ebb("run")
	if got.status != 78 || got.stdout != "" {
		t.Errorf("exit %d, stdout %q", got.status, got.stdout)
	}
	for _, name := range []string{"DATABASE_URL", "EBB_LEASE", "EBB_BATCH", "EBB_CONCURENCY", "PGPASSWORD",
		"EBB_QUEUE_A_COMMAND", "EBB_QUEUE_B_COMMAND", "EBB_QUEUE_C_COMMAND", "EBB_QUEUES"} {
		if lineOf(got.stderr, name) == "" {
			t.Errorf("no line about %s in\n%s", name, got.stderr)
		}
	}
	if strings.Contains(got.stderr, "secret") {
		t.Errorf("the password is in\n%s", got.stderr)
	}
}

// What drain finds wrong is said in the same breath, as far as it can be known.
func TestSettingsAgainstEachOther(t *testing.T) {
	got := setup{env: map[string]string{
		"DATABASE_URL": nowhere, "EBB_MAX_RUNTIME": "5m", "EBB_JOB_TIMEOUT": "10m", "EBB_NO_SUCH": "1",
	}}.ebb("run", "--", "sh")
	if got.status != 78 || !strings.Contains(got.stderr, "EBB_NO_SUCH is not a setting") {
		t.Errorf("exit %d, stderr %s", got.status, got.stderr)
	}
	got = setup{env: map[string]string{
		"DATABASE_URL": nowhere, "EBB_MAX_RUNTIME": "5m", "EBB_JOB_TIMEOUT": "10m", "EBB_QUEUE_A_COMMAND": "no-such-program",
	}}.ebb("run")
	if got.status != 78 || !strings.Contains(got.stderr, "no less than EBB_MAX_RUNTIME") || lineOf(got.stderr, "EBB_QUEUE_A_COMMAND") == "" {
		t.Errorf("exit %d, stderr %s", got.status, got.stderr)
	}
}
