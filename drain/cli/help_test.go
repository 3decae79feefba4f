package cli

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	for _, name := range []string{"", "run", "migrate", "enqueue", "status", "try", "plan", "awake", "manifest", "serve", "demo", "version"} {
		args := []string{"--help"}
		file := "help.txt"
		if name != "" {
			args, file = []string{name, "--help"}, "help-"+name+".txt"
		}
		got := (setup{}).ebb(args...)
		if got.status != 0 || got.stderr != "" {
			t.Errorf("ebb %v: exit %d, %s", args, got.status, got.stderr)
		}
		golden(t, file, got.stdout)
	}
	if got := (setup{}).ebb(); got.status != 0 || got.stdout != (setup{}).ebb("--help").stdout {
		t.Errorf("ebb without arguments: exit %d, %s", got.status, got.stdout)
	}
}

// Help about what does not exist is a mistake, like the command itself.
func TestHelpAboutNothing(t *testing.T) {
	for _, args := range [][]string{
		{"help", "nosuch"}, {"help", "run", "nosuch"}, {"help", ""}, {"help", "rum"}, {"help", "completion", "nosuch"},
		{"completion", "nosuch"}, {"completion", "bash", "extra"}, {"help", "postgres://u:secret@h/d"}, {"help", "--nosuch"},
	} {
		got := (setup{}).ebb(args...)
		if got.status != 78 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: ") || strings.Contains(got.stderr, "secret") {
			t.Errorf("%q: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
		}
	}
	for _, name := range []string{"run", "completion", "help"} {
		got, want := (setup{}).ebb("help", name), (setup{}).ebb(name, "--help")
		if got != want || got.status != 0 || got.stdout == "" {
			t.Errorf("help %s: exit %d, %s%s", name, got.status, got.stdout, got.stderr)
		}
	}
	if got, want := (setup{}).ebb("help"), (setup{}).ebb("--help"); got != want {
		t.Errorf("help: %s", got.stdout)
	}
}

// Help and versions are there whatever the environment says.
func TestVersion(t *testing.T) {
	got := setup{env: map[string]string{"EBB_NONSENSE": "1", "DATABASE_URL": " "}}.ebb("version")
	lines := strings.Split(got.stdout, "\n")
	if got.status != 0 || len(lines) != 4 || !strings.HasPrefix(lines[0], "ebb ") || !strings.HasPrefix(lines[1], "go1.") || !strings.HasPrefix(lines[2], "schema ") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	golden(t, "version.json", strings.NewReplacer(Version(), "(ebb)", runtime.Version(), "(go)", runtime.GOOS, "(os)", runtime.GOARCH, "(arch)").
		Replace((setup{}).ebb("version", "--json").stdout))
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := (setup{}).ebb("completion", shell); got.status != 0 || got.stdout == "" {
			t.Errorf("%s: exit %d, %s", shell, got.status, got.stderr)
		}
	}
}

func TestLogForm(t *testing.T) {
	for form, isJSON := range map[string]bool{"": true, "json": true, "text": false} {
		var b buffer
		p := &program{stderr: newScreen(&b)}
		p.logger(Config{Log: logFormat(form)}).Info("hello")
		if json.Valid([]byte(b.String())) != isJSON {
			t.Errorf("EBB_LOG=%s: %s", form, b.String())
		}
	}
	var b buffer
	p := &program{stderr: newScreen(&b)}
	p.stderr.isTerminal = true
	p.logger(Config{}).Info("hello")
	p.logger(Config{}).Debug("hello")
	if !strings.Contains(b.String(), "msg=hello") || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("on a terminal: %s", b.String())
	}
}
