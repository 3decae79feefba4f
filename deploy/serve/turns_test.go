package serve

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A course is turns whose runs take a minute by a clock that stands still while there is something to do. The status of
// a run is its number.
type course struct {
	*turns
	begun, ended atomic.Int32
	end          context.CancelFunc
}

func newCourse(t *testing.T, tied bool) *course {
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	c := &course{end: end}
	c.turns = &turns{ctx: ctx, tied: tied, run: func(ctx context.Context) Result {
		number := c.begun.Add(1)
		if number-c.ended.Load() != 1 {
			t.Error("two runs at once")
		}
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			time.Sleep(time.Second) // the grace
		}
		c.ended.Add(1)
		return Result{Status: int(number)}
	}}
	return c
}

// want waits until nothing goes on any more, and looks how many runs there were.
func (c *course) want(t *testing.T, begun, ended int32) {
	t.Helper()
	synctest.Wait()
	if c.begun.Load() != begun || c.ended.Load() != ended {
		t.Errorf("%d runs began and %d ended, want %d and %d", c.begun.Load(), c.ended.Load(), begun, ended)
	}
}

func over(run *turn) bool {
	select {
	case <-run.over:
		return true
	default:
		return false
	}
}

// Calls that come while a run is in progress share the one after it, however many they are, and not the one that may
// have looked before they came.
func TestCallsShareTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, false)
		first := c.call()
		c.want(t, 1, 0)
		var later [100]*turn
		for i := range later {
			if i%10 == 0 {
				time.Sleep(time.Second)
			}
			later[i] = c.call()
		}
		c.want(t, 1, 0)
		time.Sleep(50 * time.Second)
		c.want(t, 2, 1)
		if !over(first) || first.result.Status != 1 || over(later[0]) {
			t.Errorf("the first run: %+v", first)
		}
		third := c.call()
		time.Sleep(time.Minute)
		c.want(t, 3, 2)
		for _, run := range later {
			if run != later[0] || !over(run) || run.result.Status != 2 {
				t.Fatalf("a call that came in the first run was answered with %+v", run)
			}
		}
		time.Sleep(time.Hour)
		c.want(t, 3, 3)
		if third.result.Status != 3 || c.running() {
			t.Errorf("the third run: %+v", third)
		}
	})
}

func TestTicksNeverQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, false)
		if !c.tick() || c.tick() {
			t.Error("the first tick begins a run, the second is skipped")
		}
		c.call()
		if c.tick() {
			t.Error("a tick is skipped while a run waits")
		}
		time.Sleep(time.Hour)
		c.want(t, 2, 2)
		if !c.tick() {
			t.Error("a run is over, and the next tick is skipped")
		}
		c.want(t, 3, 2)
		time.Sleep(time.Hour)
	})
}

// A caller who goes away ends no run, in progress or waiting, unless it belongs to those who wait for it.
func TestLeave(t *testing.T) {
	for _, tied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCourse(t, tied)
			first, with := c.call(), c.call() // the second waits, as the first has begun
			more := c.call()
			c.want(t, 1, 0)
			c.leave(with)
			c.leave(first)
			time.Sleep(2 * time.Second)
			if tied {
				c.want(t, 2, 1)
			} else {
				c.want(t, 1, 0)
			}
			c.leave(more)
			time.Sleep(2 * time.Second)
			if tied {
				c.want(t, 2, 2)
				return
			}
			time.Sleep(time.Hour)
			c.want(t, 2, 2)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, true)
		first := c.call()
		waits := c.call()
		c.leave(waits) // so nobody wants the second run
		time.Sleep(time.Hour)
		c.want(t, 1, 1)
		c.leave(first)
		if again := c.call(); again == waits {
			t.Error("a run that nobody waited for is still to come")
		}
		time.Sleep(time.Hour)
		c.want(t, 2, 2)
	})
}

func TestLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, false)
		first, waits := c.call(), c.call()
		c.want(t, 1, 0)
		c.end()
		last := c.last()
		if last != first || !over(waits) || !waits.refused || over(first) {
			t.Errorf("the last run is %+v, the one that waited %+v", last, waits)
		}
		if c.call() != nil || c.tick() {
			t.Error("something begins after the end")
		}
		<-last.over
		c.want(t, 1, 1)
		if last.refused || last.result.Status != 1 || c.last() != first {
			t.Errorf("the last run: %+v", last)
		}
	})
	// The run ends between the end and last: the one that waits must not begin.
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, false)
		c.call()
		waits := c.call()
		synctest.Wait()
		c.end()
		time.Sleep(time.Hour)
		c.want(t, 1, 1)
		if !over(waits) || !waits.refused {
			t.Errorf("the run that waited: %+v", waits)
		}
	})
}
