package cli

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// The manifests say how much memory ebb takes by itself.
func TestMemoryIsAsTheManifestsSay(t *testing.T) {
	for name, test := range map[string]struct{ jobs, bytes, most int }{
		"payloads of a megabyte":   {60, 1_000_000, 50 << 20},
		"the most a claim brings":  {30, 1_600_000, 160 << 20},
		"payloads nearly as large": {6, 15_000_000, 160 << 20},
		"one that comes alone":     {1, 60_000_000, 4 * 60_000_000},
	} {
		url := schematest.New(t)
		do(t, schematest.Connect(t, url), fmt.Sprintf(`insert into ebb.jobs (payload) select to_jsonb(repeat('x', %d)) from generate_series(1, %d)`, test.bytes, test.jobs))
		p := start(t, []string{"DATABASE_URL=" + url}, "run", "--", "sh", "-c", "sleep 0.1; cat > /dev/null")
		got := p.result(t)
		if r := got.summary(t); got.status != 0 || r.Done != test.jobs {
			t.Fatalf("%s: exit %d, %+v: %s", name, got.status, r, got.stderr)
		}
		peak := int(p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
		t.Logf("%s: %d MB", name, peak>>20)
		if peak > test.most {
			t.Errorf("%s: %d MB, and the manifests say %d", name, peak>>20, test.most>>20)
		}
	}
}
