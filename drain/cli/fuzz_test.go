package cli

import (
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// marker stands for a secret in what is fuzzed: no three letters of it are in any message.
const marker = "Zq7Xk9Wv"

// FuzzSettings loads the settings from any environment. Entries are separated by ';;' and are a name, '=' and a value in
// which a § stands for a secret. Whatever it is: no panic, one line for each mistake, which names its variable and no
// piece of a secret, the same when it is loaded again, and what is good is read again from what it was read as.
func FuzzSettings(f *testing.F) {
	for _, s := range Settings() {
		for _, value := range []string{s.example, "", " ", "\"" + s.example + "\"", "0", "-1", "§", "postgres://u:§@h/d", "a\nb", "\xff"} {
			f.Add(strings.Replace(s.Variable, "<Q>", "A", 1) + "=" + value)
		}
	}
	for _, entries := range []string{
		"DATABASE_URL=postgres://u:§/§@h:5432/d?sslmode=§", "DATABASE_URL=postgres://§:§%§@§:§/§", "DATABASE_URL=host=h password='§ §",
		"DATABASE_URL= ", "DATABASE_URL='§'", "DATABASE_URL=§;;PGPASSWORD=§\n", "DATABASE_URL=postgres://u:§@h/d?connect_timeout=§",
		"EBB_QUEUE_A_COMMAND=./x '§;;EBB_QUEUE_A_NAME=b;;EBB_QUEUES=a,b", "EBB_QUEUE_A_COMMAND=x;;EBB_QUEUE_B_NAME=a;;EBB_QUEUE__NAME=c",
		"EBB_PORT=tcp://10.0.0.1:80;;EBB_SERVICE_HOST=::1;;EBB_\n=1;;EBB_é=1;;EBB_QUEUE_\xff_COMMANDS=1", "EBB_SCHEDULE=*/5 * * * *\nTZ=0",
		"EBB_PASS_ENV=A=§,B", "EBB_PASS_ENV=A=\x7f§", "EBB_PASS_ENV='A=§',B", "EBB_PASS_ENV='A=§'", "EBB_PASS_ENV='\x1a'", "DATABASE_URL_FILE=\x1a§", "EBB_PASS_ENV=\x7f§", "EBB_QUEUES=,a,,'b'", "EBB_LEASE=1h1", "EBB_LEASE=1h1m1s1ms;;EBB_LOG_LEVEL=WARN;;EBB_STRICT=1",
	} {
		f.Add(entries)
	}
	f.Fuzz(func(t *testing.T, text string) {
		environ := map[string]string{}
		for entry := range strings.SplitSeq(text, ";;") {
			name, value, _ := strings.Cut(entry, "=")
			if name != "" && !strings.Contains(name+value, "\x00") { // no environment can hold that
				environ[name] = strings.ReplaceAll(value, "§", marker)
			}
		}
		c, mistakes := load(environ, given{})
		all := slices.Clone(mistakes)
		if _, wrong := c.database(environ, given{}); environ["DATABASE_URL_FILE"] == "" && environ["PGSERVICE"] == "" {
			all = append(all, wrong...)
		}
		if _, wrong := c.queues(nil, nil); len(wrong) > 0 {
			all = append(all, wrong...)
		}
		for _, err := range all {
			checkMistake(t, err.Error(), environ)
		}

		again, mistakesAgain := load(environ, given{})
		if fmt.Sprint(mistakes) != fmt.Sprint(mistakesAgain) {
			t.Errorf("loaded again:\n%v\n%v", mistakes, mistakesAgain)
		}
		same(t, c, again)
		if len(mistakes) > 0 {
			return
		}
		written := write(c)
		back, mistakes := load(written, given{})
		if len(mistakes) > 0 {
			t.Fatalf("what was read as %+v, written as %q, is refused: %v", c, written, mistakes)
		}
		same(t, c, back)
	})
}

// checkMistake holds a message to what every message promises.
func checkMistake(t *testing.T, said string, environ map[string]string) {
	t.Helper()
	if strings.ContainsFunc(said, isControl) {
		t.Errorf("a line is not one line of text: %q", said)
	}
	names := false
	for name := range environ {
		names = names || strings.HasPrefix(said, name) || strings.HasPrefix(said, strconv.Quote(name))
	}
	for _, s := range Settings() {
		names = names || strings.HasPrefix(said, s.Variable)
	}
	if !names && !strings.HasPrefix(said, "EBB_QUEUE_") {
		t.Errorf("no variable is named: %q", said)
	}
	for i := range len(marker) - 2 {
		if piece := marker[i : i+3]; strings.Contains(said, piece) && !inName(environ, piece) && !maySay(said, environ) {
			t.Errorf("%q is in %q", piece, said)
		}
	}
}

// maySay says whether the message is about a value that nobody has a secret in: it would not look like one.
func maySay(said string, environ map[string]string) bool {
	for _, s := range Settings() {
		variable := strings.Replace(s.Variable, "<Q>", "A", 1)
		if !strings.HasPrefix(said, variable+":") && !strings.HasPrefix(said, variable+" ") {
			continue
		}
		if s.kind == reflect.TypeFor[Secret]() || s.field == "Command" {
			return false
		}
		if s.field == "PassEnv" { // of NAME=value
			for item := range strings.SplitSeq(environ[s.Variable], ",") {
				if strings.Contains(before(item), marker) {
					return true
				}
			}
			return false
		}
	}
	return !strings.HasPrefix(said, "PG") && !strings.Contains(said, "://")
}

func inName(environ map[string]string, piece string) bool {
	for name := range environ {
		if strings.Contains(name, piece) {
			return true
		}
	}
	return false
}

// same compares two configurations by how they are written: a secret is a function, which nothing compares.
func same(t *testing.T, a, b Config) {
	t.Helper()
	if a, b := write(a), write(b); !maps.Equal(a, b) {
		t.Errorf("they differ:\n%q\n%q", a, b)
	}
}

// write is the environment that a configuration is read from.
func write(c Config) map[string]string {
	environ := map[string]string{}
	add := func(from reflect.Value, settings []Setting, prefix string) {
		for _, s := range settings {
			if v := from.FieldByName(s.field); !v.IsZero() {
				environ[prefix+strings.TrimPrefix(s.Variable, groupPrefix+"<Q>_")] = textOf(v.Interface())
			}
		}
	}
	add(reflect.ValueOf(c), configSettings(), "")
	for q, g := range c.Groups {
		add(reflect.ValueOf(g), groupSettings(), groupPrefix+q+"_")
	}
	return environ
}

// textOf is a value as a user would write it.
func textOf(value any) string {
	switch v := value.(type) {
	case Secret:
		return v.reveal()
	case list:
		var names []string
		for _, name := range v {
			names = append(names, strings.ReplaceAll(name, ",", `\,`))
		}
		return strings.Join(names, ",")
	case logLevel:
		return strings.ToLower(slog.Level(v).String())
	}
	return fmt.Sprint(value)
}
