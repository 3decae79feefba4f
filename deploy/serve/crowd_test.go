package serve

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Callers, some of whom go away, ticks and the end all at once: whatever comes first, no two runs are in progress at
// once, a call is answered by a run that began after it or told that none does, and nothing begins after the last.
func TestACrowd(t *testing.T) {
	for round := range 300 {
		ctx, end := context.WithCancel(t.Context())
		var begun, ended atomic.Int32
		turns := &turns{ctx: ctx, tied: round%2 == 0, run: func(ctx context.Context) Result {
			number := begun.Add(1)
			if number-ended.Load() != 1 {
				t.Error("two runs at once")
			}
			for range 5 {
				runtime.Gosched()
			}
			ended.Add(1)
			return Result{Status: int(number)}
		}}
		var all sync.WaitGroup
		for caller := range 8 {
			all.Go(func() {
				for i := range 20 {
					before := begun.Load()
					run := turns.call()
					if run == nil {
						if ctx.Err() == nil {
							t.Error("a call is refused before the end")
						}
						return
					}
					if (caller+i)%4 == 0 {
						turns.leave(run)
						continue
					}
					<-run.over
					turns.leave(run)
					if run.refused && ctx.Err() == nil || !run.refused && int32(run.result.Status) <= before {
						t.Errorf("a call after %d runs had begun was answered by %+v", before, run.result)
					}
				}
			})
		}
		all.Go(func() {
			for ctx.Err() == nil {
				turns.tick()
				runtime.Gosched()
			}
		})
		all.Go(func() {
			for begun.Load() < int32(round%40) {
				runtime.Gosched()
			}
			end()
		})
		<-ctx.Done()
		if last := turns.last(); last != nil {
			<-last.over
		}
		number := begun.Load()
		all.Wait()
		if begun.Load() != number || ended.Load() != number || turns.running() {
			t.Fatalf("%d runs began, %d of them after the last, and %d ended", begun.Load(), begun.Load()-number, ended.Load())
		}
	}
}
