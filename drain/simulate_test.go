package drain

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The simulation: whole runs against a model of the table, in virtual time, with everything going wrong that may. A
// schedule comes from a seed alone, which a failure prints. SIMULATE says how many are gone through
// (SIMULATE=20000 go test ./drain -run TestSimulate; a million take some ten minutes), from SIMULATE_FIRST on;
// SIMULATE_SEED repeats one and shows what happens in it.
func TestSimulate(t *testing.T) {
	if seed, ok := simulateSeed(t); ok {
		sim := simulate(t, newSchedule(seed), nil, true)
		t.Log("\n" + strings.Join(sim.lines, "\n"))
		for _, what := range sim.wrong {
			t.Error(what)
		}
		return
	}
	n := uint64(10_000) // ten seconds
	if text := os.Getenv("SIMULATE"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("SIMULATE: %v", err)
		}
	}
	first := firstSeed(t)
	var next atomic.Uint64
	var failures atomic.Int64
	for i := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for failures.Load() < 5 {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				seed := first + i
				p := newSchedule(seed)
				sim := simulate(t, p, nil, false)
				if i%50 == 0 && simulate(t, newSchedule(seed), nil, false).transcript() != sim.transcript() {
					sim.wrong = append(sim.wrong, "the same seed goes another way the second time")
				}
				if len(sim.wrong) > 0 {
					failures.Add(1)
					t.Errorf("SIMULATE_SEED=%d go test ./drain -run TestSimulate\n%s", seed, strings.Join(sim.wrong, "\n"))
				}
			}
		})
	}
}

// firstSeed is 1, so that a test that passed passes again; another one each time where SIMULATE asks for a search; and what
// SIMULATE_FIRST says.
func firstSeed(t *testing.T) (first uint64) {
	switch text := os.Getenv("SIMULATE_FIRST"); {
	case text != "":
		if _, err := fmt.Sscan(text, &first); err != nil {
			t.Fatalf("SIMULATE_FIRST: %v", err)
		}
		return first
	case os.Getenv("SIMULATE") != "":
		return uint64(time.Now().UnixNano()) &^ (1<<32 - 1)
	}
	return 1
}

func simulateSeed(t *testing.T) (seed uint64, ok bool) {
	text := os.Getenv("SIMULATE_SEED")
	if text == "" {
		return 0, false
	}
	if _, err := fmt.Sscan(text, &seed); err != nil {
		t.Fatalf("SIMULATE_SEED: %v", err)
	}
	return seed, true
}
