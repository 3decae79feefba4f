package validate

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"

	"github.com/seed829e008e/ebb/deploy"
)

// A workflow is what a run of the made one needs to be known of it.
type workflow struct {
	Jobs struct {
		Run struct {
			TimeoutMinutes int `json:"timeout-minutes"`
			Steps          []struct {
				Run string
				Env map[string]string
			}
		}
	}
}

// The workflow has no fault that actionlint finds, and starts ebb with the settings and arguments that it was made of.
func TestGitHubWorkflow(t *testing.T) {
	for _, image := range []string{"", "registry.example.com/shop-jobs:1"} {
		for _, lines := range []string{"*/30 * * * *", "*/5 * * * *", "0 12 15-21 * 2", "@daily", "0 6 * * *\nCRON_TZ=Europe/Berlin 30 18 * * MON-FRI"} {
			j := job(t, lines, rough()...)
			j.Image, j.Args = image, []string{"run", "--queue", "email", "--", ""}
			for _, v := range rough() {
				j.Args = append(j.Args, v.Value)
			}
			files, err := deploy.GitHub(j)
			if err != nil {
				t.Fatal(err)
			}
			text := []byte(files[0].Content)
			linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			faults, err := linter.Lint(".github/workflows/"+files[0].Name, text, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range faults {
				t.Errorf("%v\n%s", f, text)
			}
			var made workflow
			if err := yaml.Unmarshal(text, &made); err != nil {
				t.Fatal(err)
			}
			step := made.Jobs.Run.Steps[len(made.Jobs.Run.Steps)-1]
			args, env := execute(t, step.Run, step.Env)
			if image != "" {
				inside := map[string]string{}
				for len(args) > 2 && args[0] != image {
					if args[0] == "--env" {
						inside[args[1]] = env[args[1]]
						args = args[1:]
					}
					args = args[1:]
				}
				args, env = args[1:], inside
			}
			if !slices.Equal(args, j.Args) {
				t.Errorf("the arguments are\n%q\nwant\n%q", args, j.Args)
			}
			for _, v := range append(j.Settings, deploy.Variable{Name: "DATABASE_URL", Value: "the secret SHOP_JOBS_DATABASE_URL"}) {
				if env[v.Name] != v.Value {
					t.Errorf("%s is %q, want %q", v.Name, env[v.Name], v.Value)
				}
			}
			budget, err := time.ParseDuration(env["EBB_MAX_RUNTIME"])
			if limit := time.Duration(made.Jobs.Run.TimeoutMinutes) * time.Minute; err != nil || budget >= limit {
				t.Errorf("EBB_MAX_RUNTIME %v, a limit of %v, %v", budget, limit, err)
			}
		}
	}
}

// execute runs a step as GitHub's runner does: expressions first, then the shell. What stands for docker, go and ebb
// writes down how it was called.
func execute(t *testing.T, script string, env map[string]string) (args []string, seen map[string]string) {
	t.Helper()
	bin := t.TempDir()
	out := filepath.Join(bin, "args")
	call := fmt.Sprintf("#!/bin/sh\nfor arg; do printf '%%s\\0' \"$arg\"; done > %s\n", out)
	for name, text := range map[string]string{"docker": call, "go": "#!/bin/sh\necho " + bin + "\n", "bin/ebb": call} {
		os.MkdirAll(filepath.Join(bin, "bin"), 0o755)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("bash", "-e", "-c", evaluated(t, script))
	c.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	seen = map[string]string{}
	for name, value := range env {
		seen[name] = evaluated(t, value)
		c.Env = append(c.Env, name+"="+seen[name])
	}
	if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
		t.Fatalf("%v: %s\n%s", err, said, script)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for arg := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		args = append(args, string(arg))
	}
	return args, seen
}

// evaluated puts what they come to in the place of expressions. Strings and secrets are all that there may be.
func evaluated(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		lexer := actionlint.NewExprLexer(rest)
		node, err := actionlint.NewExprParser().Parse(lexer)
		if err != nil {
			t.Fatalf("%v: %s", err, rest)
		}
		switch n := node.(type) {
		case *actionlint.StringNode:
			b.WriteString(n.Value)
		case *actionlint.ObjectDerefNode:
			if of, ok := n.Receiver.(*actionlint.VariableNode); !ok || of.Name != "secrets" {
				t.Fatalf("%+v", n)
			}
			b.WriteString("the secret " + strings.ToUpper(n.Property))
		default:
			t.Fatalf("%T: %s", node, rest)
		}
		text = rest[lexer.Offset():]
	}
}
