package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// The manifests say how much memory ebb takes by itself.
func TestMemoryIsAsTheManifestsSay(t *testing.T) {
	ebb := filepath.Join(t.TempDir(), "ebb") // a test's own program takes more
	if out, err := exec.Command("go", "build", "-o", ebb, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, test := range map[string]struct{ jobs, bytes, most int }{
		"payloads of a megabyte":   {60, 1_000_000, 60 << 20},
		"the most a claim brings":  {30, 1_600_000, 160 << 20},
		"payloads nearly as large": {6, 15_000_000, 160 << 20},
		"one that comes alone":     {1, 60_000_000, 4 * 60_000_000},
	} {
		url := schematest.New(t)
		do(t, schematest.Connect(t, url), fmt.Sprintf(`insert into ebb.jobs (payload) select to_jsonb(repeat('x', %d)) from generate_series(1, %d)`, test.bytes, test.jobs))
		run := exec.Command(ebb, "run", "--", "sh", "-c", "sleep 0.1; cat > /dev/null")
		run.Env = []string{"DATABASE_URL=" + url, "PATH=" + os.Getenv("PATH")}
		var stdout bytes.Buffer
		run.Stdout = &stdout
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		peak := watchPeak(run.Process.Pid)
		err := run.Wait()
		out := stdout.Bytes()
		var r drain.Report
		if err != nil || json.Unmarshal(out, &r) != nil || r.Done != test.jobs {
			t.Fatalf("%s: %v, %s", name, err, out)
		}
		most := <-peak
		t.Logf("%s: %d MB", name, most>>20)
		if most == 0 || most > test.most {
			t.Errorf("%s: %d MB, and the manifests say %d", name, most>>20, test.most>>20)
		}
	}
}

// watchPeak gives the most memory that a process had when it has ended. The kernel's own account of an ended process
// would not do: it counts what the process that started it had.
func watchPeak(pid int) <-chan int {
	peak := make(chan int, 1)
	go func() {
		most := 0
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if err != nil || !found { // it has ended
				peak <- most
				return
			}
			if kB, err := strconv.Atoi(strings.Fields(after)[0]); err == nil {
				most = max(most, kB<<10)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return peak
}
