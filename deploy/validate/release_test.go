package validate

import (
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/rhysd/actionlint"
)

const releaseFile = "../../.github/workflows/release.yml"

func TestReleaseWorkflow(t *testing.T) {
	text, err := os.ReadFile(releaseFile)
	if err != nil {
		t.Fatal(err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mistakes, err := linter.Lint(releaseFile, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		t.Error(m)
	}

	// Nobody but us changes what an action is.
	for _, use := range regexp.MustCompile(`uses: *(.*)`).FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(use[1]) {
			t.Errorf("%s is not pinned", use[1])
		}
	}
	w, mistakes := actionlint.Parse(text)
	if len(mistakes) > 0 || w == nil {
		t.Fatal(mistakes)
	}
	if w.Permissions == nil || w.Permissions.All != nil || len(w.Permissions.Scopes) > 0 {
		t.Errorf("a job that asks for nothing may do %+v", w.Permissions)
	}
	for name, job := range w.Jobs {
		if job.Permissions == nil || job.Permissions.All != nil {
			t.Errorf("%s: %+v", name, job.Permissions)
			continue
		}
		for _, scope := range job.Permissions.Scopes {
			may := map[string]string{"contents": "read"}
			switch name {
			case "programs":
				may = map[string]string{"contents": "write", "id-token": "write", "attestations": "write"}
			case "image":
				may["packages"] = "write"
			}
			if may[scope.Name.Value] != scope.Value.Value {
				t.Errorf("%s may %s %s", name, scope.Value.Value, scope.Name.Value)
			}
		}
		if name != "test" && (len(job.Needs) != 1 || job.Needs[0].Value != "test") {
			t.Errorf("%s does not wait for the tests", name)
		}
	}
}
