package schematest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Missing ends a test that needs something which this machine does not have: PgBouncer, say, or root's rights. The test
// fails, for go test without -v shows nothing of a test that is skipped in a package that passes. Where TEST_WITHOUT names
// the tool (several are separated by commas, all stands for every one) the test is skipped.
func Missing(t testing.TB, tool, why string) {
	t.Helper()
	left := strings.Split(os.Getenv("TEST_WITHOUT"), ",")
	if slices.Contains(left, tool) || slices.Contains(left, "all") {
		t.Skipf("NOT TESTED: %s", why)
	}
	t.Fatalf("%s; or leave such tests out: TEST_WITHOUT=%s", why, tool)
}
