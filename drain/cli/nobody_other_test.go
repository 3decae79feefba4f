//go:build unix && !linux

package cli

import (
	"os"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

func asNobody(t *testing.T) (back func()) {
	if os.Getuid() == 0 {
		schematest.Missing(t, "nobody", "run this as a user other than root")
	}
	return func() {}
}
