//go:build !unix

package serve

import "math"

// fileLimit is the most files that this process may have open.
func fileLimit() uint64 { return math.MaxUint64 }
