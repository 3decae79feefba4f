package deploy

import (
	"os"
	"regexp"
	"testing"
)

// Nobody but us changes what an image is made from, what the tests of a release run in, and what a workflow begins with.
func TestWhatIsFetchedIsPinned(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	job := exampleJob(t)
	job.Image = ""
	workflow, err := GitHub(job)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []struct {
		name, text, fetches, pinned string
		want                        int
	}{
		{"Dockerfile", read("Dockerfile"), `(?m)^(?:# syntax=|FROM (?:--\S+ )?)(\S+)`, `^scratch$|:[\w.-]+@sha256:[0-9a-f]{64}$`, 3},
		{"release.yml", read("../.github/workflows/release.yml"), `(?m)^ +image: *(\S+)$`, `:[\w.-]+@sha256:[0-9a-f]{64}$`, 1},
		{"github.yml", workflow[0].Content, `(?m)uses: *(\S+)`, `@[0-9a-f]{40}$`, 1},
	} {
		found := regexp.MustCompile(file.fetches).FindAllStringSubmatch(file.text, -1)
		if len(found) != file.want {
			t.Errorf("%s: found %q", file.name, found)
		}
		for _, f := range found {
			if !regexp.MustCompile(file.pinned).MatchString(f[1]) {
				t.Errorf("%s: %s is not pinned", file.name, f[1])
			}
		}
	}
}
