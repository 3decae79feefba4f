package drain_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Arrows point down: what a package may know of the others.
func TestDirections(t *testing.T) {
	const module = "github.com/seed829e008e/ebb/"
	for of, may := range map[string][]string{
		"drain":             {},
		"drain/command":     {"drain"},
		"drain/jobs":        {},
		"schedule":          {},
		"schedule/awake":    {"schedule"},
		"schema":            {},
		"deploy":            {"schedule"},
		"deploy/local":      {},
		"deploy/serve":      {},
		"deploy/lambda":     {},
		"schema/schematest": {"schema", "deploy/local"},
		"drain/cli":         {"drain", "drain/command", "drain/jobs", "schedule", "schedule/awake", "schema", "deploy", "deploy/local", "deploy/serve", "deploy/lambda"},
	} {
		out, err := exec.Command("go", "list", "-deps", module+of).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			if name, ours := strings.CutPrefix(dep, module); ours && name != of && !slices.Contains(may, name) {
				t.Errorf("%s imports %s", of, name)
			}
		}
	}
}
