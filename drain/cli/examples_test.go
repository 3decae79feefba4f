//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// blocks are the README's blocks of a language that begin with some text, as they are printed.
func blocks(t *testing.T, language, beginning string) (all []string) {
	t.Helper()
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readREADME(t), -1) {
		if strings.HasPrefix(found[1], beginning) {
			all = append(all, found[1])
		}
	}
	if len(all) == 0 {
		t.Fatalf("the README has no block of %s that begins with %q", language, beginning)
	}
	return all
}

// An example is a handler of the README in a directory of its own, with the only tools that it finds.
type example struct {
	*testing.T
	url, dir string
	db       *pgx.Conn
}

func newExample(t *testing.T, text string) example {
	t.Helper()
	url := schematest.New(t)
	e := example{t, url, t.TempDir(), schematest.Connect(t, url)}
	e.write("handler", text)
	return e
}

func (e example) write(name, text string) {
	e.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(e.dir, name)), 0o755); err != nil {
		e.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o755); err != nil {
		e.Fatal(err)
	}
}

// tool lets the handler find a tool of this machine.
func (e example) tool(name, path string) {
	e.Helper()
	if err := os.Symlink(path, filepath.Join(e.dir, "bin", name)); err != nil {
		e.Fatal(err)
	}
}

// run has ebb run the handler on a payload at its last attempt and gives the exit status and what became of the job.
func (e example) run(payload string, env ...string) string {
	e.Helper()
	do(e.T, e.db, `truncate ebb.jobs`)
	do(e.T, e.db, `insert into ebb.jobs (queue, payload, max_attempts) values ('email', $1, 1)`, payload)
	environ := append([]string{"PATH=" + filepath.Join(e.dir, "bin"), "DATABASE_URL=" + e.url,
		"EBB_QUEUE_EMAIL_COMMAND=" + filepath.Join(e.dir, "handler"), "OUT=" + filepath.Join(e.dir, "out")}, env...)
	var stdout, stderr buffer
	status := Main([]string{"run"}, environ, strings.NewReader(""), &stdout, &stderr)
	return fmt.Sprintf("%d %s", status, text(e.T, e.db, `select status || ' ' || attempts from ebb.jobs`))
}

func (e example) wants(what, got, want string) {
	e.Helper()
	if got != want {
		e.Errorf("%s: %q, want %q; last_error: %s", what, got, want, text(e.T, e.db, `select coalesce(last_error, '') from ebb.jobs`))
	}
}

const (
	isDone      = "0 done 1"
	isFailed    = "0 failed 1"
	isGivenBack = "5 queued 0"
)

func TestREADMEShellHandler(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		schematest.Missing(t, "jq", "there is no jq: install it")
	}
	const mailer = "#!/bin/sh\n{ echo \"$@\"; while read -r line; do echo \"$line\"; done; } >\"$OUT\"\n"
	// What a tool is like that is there and does not work.
	broken := map[string]string{"without its interpreter": "#!/no/such/interpreter\n", "no program": "\x00\x01\x02\x03", "ended by a signal": "#!/bin/sh\nkill -9 $$\n"}
	for _, handler := range blocks(t, "sh", "#!") {
		e := newExample(t, handler)
		e.write("bin/sendmail", mailer)
		e.wants("without jq", e.run(`{"to": "ada@example.com"}`), isGivenBack)
		e.wants("without jq, a bad payload", e.run(`{}`), isGivenBack)
		for how, text := range broken {
			e.write("bin/jq", text)
			if got := e.run(`{"to": "ada@example.com"}`); got == isDone || got == isFailed && how != "ended by a signal" {
				e.Errorf("jq %s: %s", how, got)
			}
		}
		os.Remove(filepath.Join(e.dir, "bin/jq"))
		e.tool("jq", jq)

		e.wants("all is there", e.run(`{"to": "ada@example.com"}`), isDone)
		if out, err := os.ReadFile(filepath.Join(e.dir, "out")); string(out) != "-- ada@example.com\nSubject: Hello\n\nHello.\n" {
			e.Errorf("sent %q, %v", out, err)
		}
		for _, payload := range []string{`{}`, `{"to": null}`, `null`, `7`, `"x"`, `[1]`, `{"to": false}`} {
			e.wants(payload, e.run(payload), isFailed)
			if got := text(t, e.db, `select last_error from ebb.jobs`); !strings.Contains(got, "exit status 65") {
				e.Errorf("%s failed for another reason: %s", payload, got)
			}
		}
		for _, status := range []int{1, 65, 69, 75, 78} {
			e.write("bin/sendmail", fmt.Sprintf("#!/bin/sh\nwhile read -r line; do :; done; exit %d\n", status))
			e.run(`{"to": "ada@example.com"}`)
			if got := text(t, e.db, `select last_error from ebb.jobs`); !strings.Contains(got, "exit status 1") {
				e.Errorf("sendmail's %d is ebb's: %s", status, got)
			}
		}
		for how, text := range broken {
			e.write("bin/sendmail", text)
			if got := e.run(`{"to": "ada@example.com"}`); got == isDone || got == isFailed && how != "ended by a signal" {
				e.Errorf("sendmail %s: %s", how, got)
			}
		}
		os.Remove(filepath.Join(e.dir, "bin/sendmail"))
		e.wants("without sendmail", e.run(`{"to": "ada@example.com"}`), isGivenBack)
	}
}

func TestREADMEPythonHandler(t *testing.T) {
	for _, handler := range blocks(t, "python", "#!") {
		e := newExample(t, handler)
		e.write("bin/nothing", "")
		e.wants("without python3", e.run(`{"account": 7}`), isGivenBack)
		found, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			t.Skip("NOT TESTED any further, for there is no python3")
		}
		python := strings.TrimSpace(string(found))
		pass := []string{"EBB_PASS_ENV=DATABASE_URL"}
		e.write("bin/python3", "#!/bin/sh\nexec '"+python+"' -S \"$@\"\n") // without what was installed
		e.wants("without psycopg", e.run(`{"account": 7}`, pass...), isGivenBack)
		e.write("bin/python3", "#!/bin/sh\nexec '"+python+"' \"$@\"\n")
		if err := exec.Command(python, "-c", "import psycopg").Run(); err != nil {
			psql, err := exec.LookPath("psql")
			if err != nil {
				t.Skip("NOT TESTED any further, for there is neither psycopg nor psql")
			}
			t.Log("NOT TESTED with psycopg itself, for python3 has none: with psql in its place")
			e.write("psycopg.py", fmt.Sprintf(inPlaceOfPsycopg, psql))
		}
		e.wants("without EBB_PASS_ENV", e.run(`{"account": 7}`), isGivenBack)
		do(t, e.db, `create table accounts (id int, synced timestamptz); insert into accounts values (7), (8)`)
		e.wants("all is there", e.run(`{"account": 7}`, pass...), isDone)
		if got := text(t, e.db, `select string_agg(id::text, ' ') from accounts where synced is not null`); got != "7" {
			t.Errorf("synced %s", got)
		}
		for _, payload := range []string{`{}`, `null`, `7`, `[1]`, `"account"`} {
			e.wants(payload, e.run(payload, pass...), isFailed)
			if got := text(t, e.db, `select last_error from ebb.jobs`); !strings.Contains(got, "exit status 65") {
				e.Errorf("%s failed for another reason: %s", payload, got)
			}
		}
	}
}

const inPlaceOfPsycopg = `import subprocess
class connect:
    def __init__(self, url): self.url = url
    def __enter__(self): return self
    def __exit__(self, *error): pass
    def execute(self, statement, values):
        subprocess.run([%q, self.url, "-v", "ON_ERROR_STOP=1", "-qc", statement %% tuple(values)], check=True)
`

// The program compiles where a user has it, in a module of its own, with "send" as the only thing that is the user's.
func TestREADMEGoHandler(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const ebb = "github.com/seed829e008e/ebb"
	for _, program := range blocks(t, "go", "package main") {
		e := newExample(t, "")
		e.write("main.go", program)
		e.write("send.go", `package main

import (
	"context"
	"errors"
	"os"
)

func send(_ context.Context, to string) error {
	if to == "" {
		return errors.New("no address")
	}
	return os.WriteFile(os.Getenv("OUT"), []byte(to), 0o600)
}
`)
		e.write("go.mod", strings.Replace(string(module), "module "+ebb, "module example.com/shop", 1)+
			"\nrequire "+ebb+" v0.0.0\n\nreplace "+ebb+" => "+root+"\n")
		e.write("go.sum", string(sums))
		build := exec.Command("go", "build", "-o", "shop", ".")
		build.Dir, build.Env = e.dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("the README's program does not compile: %v\n%s", err, out)
		}
		for payload, want := range map[string]string{`{"to": "ada@example.com"}`: "done 1", `7`: "failed 1", `{}`: "queued 1"} {
			do(t, e.db, `truncate ebb.jobs`)
			do(t, e.db, `insert into ebb.jobs (queue, payload) values ('email', $1)`, payload)
			shop := exec.Command(filepath.Join(e.dir, "shop"), "run")
			shop.Env = []string{"DATABASE_URL=" + e.url, "OUT=" + filepath.Join(e.dir, "out"), "PATH=" + os.Getenv("PATH")}
			if out, err := shop.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", payload, err, out)
			}
			if got := text(t, e.db, `select status || ' ' || attempts from ebb.jobs`); got != want {
				t.Errorf("%s: %s, want %s", payload, got, want)
			}
		}
		if out, err := os.ReadFile(filepath.Join(e.dir, "out")); string(out) != "ada@example.com" {
			t.Errorf("sent %q, %v", out, err)
		}
	}
}

func TestREADMEStatements(t *testing.T) {
	producer, drainer := roleName(t), roleName(t) // other databases of this server may have the README's
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `create role `+producer+`; create role `+drainer)
	for _, block := range blocks(t, "sql", "") {
		block = strings.NewReplacer("producer", producer, "drainer", drainer).Replace(block)
		if _, err := db.PgConn().Exec(t.Context(), block).ReadAll(); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

// From nothing to a first run, and what plan and awake are shown with, typed into a shell as printed. Left out is what
// would reach for the network, or take minutes.
func TestREADMECommands(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		schematest.Missing(t, "jq", "there is no jq: install it")
	}
	e := newExample(t, "")
	e.write("bin/ebb", "#!/bin/sh\nBE_EBB=yes exec '"+os.Args[0]+"' \"$@\"\n")
	e.write("bin/sendmail", "#!/bin/sh\nwhile read -r line; do :; done; echo \"$2\" >>\"$OUT\"\n")
	e.tool("jq", jq)
	e.write("send-email", blocks(t, "sh", "#!")[0])
	leftOut := regexp.MustCompile(`^(go install|export DATABASE_URL)|--watch`)
	ran := 0
	for _, beginning := range []string{"go install", "ebb plan", "ebb awake"} {
		for _, block := range blocks(t, "sh", beginning) {
			for line := range strings.Lines(block) {
				if leftOut.MatchString(line) {
					continue
				}
				sh := exec.Command("sh", "-euc", line)
				sh.Dir = e.dir
				sh.Env = []string{"PATH=" + filepath.Join(e.dir, "bin") + ":/usr/bin:/bin", "DATABASE_URL=" + e.url, "OUT=" + filepath.Join(e.dir, "out")}
				if out, err := sh.CombinedOutput(); err != nil {
					t.Errorf("%s%v\n%s", line, err, out)
				}
				ran++
			}
		}
	}
	if out, err := os.ReadFile(filepath.Join(e.dir, "out")); string(out) != "ada@example.com\n" || ran < 8 {
		t.Errorf("sent %q, %v; %d commands", out, err, ran)
	}
}
