//go:build unix

package schema_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// A process that is killed -9 half way, when it has made some of the tables and waits to make the next, leaves
// nothing, and the next one does all of it.
func TestKilledHalfWay(t *testing.T) {
	url := schematest.Empty(t)
	a, watch := schematest.Connect(t, url), schematest.Connect(t, url)
	run(t, a, `create schema s`)
	run(t, a, `begin; create table s.jobs_runs (id int)`)

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "SCHEMA_TEST_MIGRATE_URL="+url, "SCHEMA_TEST_MIGRATE_SCHEMA=s")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	waitForWaiter(t, watch)
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	run(t, a, `rollback`)

	migrate(t, watch, "s") // waits for the killed one's lock until the server has seen that it is gone
	wantGolden(t, watch, "s")
}
