//go:build unix

package command

import (
	"runtime"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

// What the process ever took from the system does not grow with what commands print.
func TestMemoryIsBounded(t *testing.T) {
	const most = 16 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, script := range []string{
		`head -c 1024 /dev/zero | tr '\0' x >&2; exit 1`,
		`head -c 1048576 /dev/zero | tr '\0' x >&2; exit 1`,
		`head -c 67108864 /dev/zero | tr '\0' x >&2; exit 1`,
		`head -c 314572800 /dev/zero | tr '\0' x >&2; exit 1`,
		`head -c 314572800 /dev/zero | tr '\0' '\n' >&2; exit 1`,
		`yes | head -c 314572800; yes no | head -c 1000000 >&2; exit 1`,
	} {
		c := shell(script)
		c.Log = newPrinted().logger()
		err := c.Handle(t.Context(), drain.Job{})
		if got := text(err); !strings.HasPrefix(got, "exit status 1") || len(got) > tailSize+100 {
			t.Errorf("%s: %.100q, %d bytes", script, got, len(got))
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.Sys - before.Sys; after.Sys > before.Sys && grown > most {
		t.Errorf("grew by %d MB", grown>>20)
	}
}
