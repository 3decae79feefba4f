package deploy

import (
	"flag"
	"os"
	"testing"
)

// update writes the static copies anew: go test ./deploy -update.
var update = flag.Bool("update", false, "write the copies of the manifests in this directory anew")

// exampleJob is what the copies in this directory are made from.
func exampleJob(t *testing.T) Job {
	t.Helper()
	return Job{
		Name:     "ebb",
		Image:    "registry.example.com/shop-jobs:1",
		Args:     []string{"run"},
		Schedule: lines(t, "*/30 * * * *"),
		Settings: []Variable{{"EBB_SCHEDULE", "*/30 * * * *"}, {"EBB_QUEUE_EMAIL_COMMAND", "/app/send-email"}},
		Pods:     1,
		From:     monday,
	}
}

// isCopy holds a file of this directory equal to what is made for the example.
func isCopy(t *testing.T, name, made string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != made {
		t.Errorf("%s is not what is made for the example; go test ./deploy -update, and look at what changed", name)
	}
}
