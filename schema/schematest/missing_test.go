package schematest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// A tool that is not there is told without -v, unless somebody said to do without it.
func TestMissing(t *testing.T) {
	if os.Getenv("TEST_MISSING") != "" {
		schematest.Missing(t, "pgbouncer", "install pgbouncer")
	}
	for without, skipped := range map[string]bool{"": false, "faketime": false, "pgbouncer": true, "faketime,pgbouncer": true, "all": true} {
		out, err := process("", "^TestMissing$", "TEST_MISSING=1", "TEST_WITHOUT="+without)
		if (err == nil) != skipped || !strings.Contains(out, "install pgbouncer") || strings.Contains(out, "NOT TESTED") != skipped {
			t.Errorf("TEST_WITHOUT=%s: %v\n%s", without, err, out)
		}
	}
}
