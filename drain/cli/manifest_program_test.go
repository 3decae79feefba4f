package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

// A program with handlers in Go knows its own name and package, and deploys itself, never ebb without its handlers.
func TestManifestOfAProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "shop-worker")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/worker").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const itself = "github.com/seed829e008e/ebb/drain/cli/testdata/worker"
	for _, test := range []struct {
		args         string
		made, warned string // an error where nothing is made
	}{
		{"systemd", "ExecStart=/usr/local/bin/shop-worker run\n", "is taken to be /usr/local/bin/shop-worker on the machine; name another path with --program"},
		{"systemd --program /opt/jobs", "ExecStart=/opt/jobs run\n", ""},
		{"kubernetes", "", "ebb: --image: the handlers are in this program, so that runs need an image of it;"},
		{"kubernetes --image a:1 --program /jobs", "command: [\"/jobs\"]\n", ""},
		{"cloudrun", "", "ebb: --image: the handlers are in this program"},
		{"lambda", "go build -o function/bootstrap " + itself, "is taken to be made by"},
		{"github", "go build -o \"$RUNNER_TEMP/jobs\" " + itself + "\n", "is taken to be the package " + itself},
		{"systemd --queue other -- send", "ExecStart=/usr/local/bin/ebb run --queue other -- send\n", ""},
	} {
		c := exec.Command(program, append([]string{"manifest"}, strings.Fields(test.args)...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "EBB_SCHEDULE=*/30 * * * *"}
		var stdout, stderr strings.Builder
		c.Stdout, c.Stderr = &stdout, &stderr
		err := c.Run()
		if (err == nil) != (test.made != "") || !strings.Contains(stdout.String(), test.made) || !strings.Contains(stderr.String(), test.warned) || test.warned == "" && stderr.Len() > 0 {
			t.Errorf("%s: %v\n%s%s", test.args, err, &stderr, &stdout)
		}
		if test.warned != "" && strings.Contains(stdout.String(), "ebb@latest") {
			t.Errorf("%s: ebb without the handlers", test.args)
		}
	}
}

// All that a run could not start is refused at once, with what else is wrong, and blank flags are mistakes.
func TestManifestRefusesWhatCannotStart(t *testing.T) {
	s := setup{
		env:      map[string]string{"EBB_SCHEDULE": "@daily", "EBB_QUEUE_A_COMMAND": "./send-email", "EBB_QUEUE_B_COMMAND": "env X=1 /home/ada/send-email"},
		handlers: []drain.Queue{{Name: "email", Handler: func(context.Context, drain.Job) error { return nil }}},
	}
	got := s.ebb("manifest", "systemd", "--program", "/root/jobs", "--pods", "3", "--image", " ", "--output", "")
	for _, want := range []string{"--image is given but blank", "--output is given but blank", "--pods: systemd has none", "--program: /root/jobs is hidden",
		"EBB_QUEUE_A_COMMAND: ./send-email is relative", "EBB_QUEUE_B_COMMAND: /home/ada/send-email is hidden"} {
		if got.status != 78 || got.stdout != "" || strings.Count(got.stderr, "ebb: "+want) != 1 {
			t.Errorf("exit %d, want %q: %s", got.status, want, got.stderr)
		}
	}
	got = setup{env: map[string]string{"EBB_SCHEDULE": "@daily"}}.ebb("manifest", "systemd", "--", "/home/ada/send-email")
	if got.status != 78 || !strings.Contains(got.stderr, "ebb: the command behind --: /home/ada/send-email is hidden") {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}

func TestManifestTellsThatTheImageIsAPlaceholder(t *testing.T) {
	for _, target := range []string{"kubernetes", "cloudrun"} {
		s := setup{env: map[string]string{"EBB_SCHEDULE": "@daily", "EBB_QUEUE_EMAIL_COMMAND": "/app/send-email"}}
		if got := s.ebb("manifest", target); got.status != 0 || !strings.Contains(got.stderr, "placeholder") || !strings.Contains(got.stdout, "# A placeholder") {
			t.Errorf("%s: exit %d, %s", target, got.status, got.stderr)
		}
		if got := s.ebb("manifest", target, "--image", "a:1"); got.status != 0 || strings.Contains(got.stderr+got.stdout, "placeholder") {
			t.Errorf("%s: exit %d, %s", target, got.status, got.stderr)
		}
	}
}
