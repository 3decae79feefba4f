package serve

import (
	"context"
	"errors"
	"sync"
)

// errLeft is why a run of a function is stopped.
var errLeft = errors.New("nobody waits for the run any more")

// turns has one run at once, and at most one more that waits for its turn. When ctx ends so does the run in progress,
// and no other begins.
type turns struct {
	ctx  context.Context
	run  func(context.Context) Result
	tied bool // a run is stopped when nobody waits for it any more

	mu            sync.Mutex
	current, next *turn
	stopped       *turn // the one that was in progress when ctx ended, once it is over
}

// A turn is a run that is in progress, or waits for its turn.
type turn struct {
	over    chan struct{} // closed when it has ended, or never will begin
	result  Result        // once over
	refused bool          // once over: it never began

	// The following are guarded by the mutex of turns.
	waiting int // callers
	stop    context.CancelCauseFunc
}

// call gives the next run that begins, nil where none does any more. Each call is to be ended by leave.
func (t *turns) call() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		return nil
	}
	if t.next == nil {
		t.next = &turn{over: make(chan struct{})}
	}
	joined := t.next
	joined.waiting++
	t.advance()
	return joined
}

// leave says that a caller waits no more.
func (t *turns) leave(left *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left.waiting--; left.waiting > 0 || !t.tied {
		return
	}
	switch left {
	case t.next:
		t.next = nil
	case t.current:
		left.stop(errLeft)
	}
}

// tick begins a run where none is in progress, and says whether it did.
func (t *turns) tick() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil || t.ctx.Err() != nil {
		return false
	}
	t.next = &turn{over: make(chan struct{})}
	t.advance()
	return true
}

// advance begins the run that waits, if it is its turn. The caller holds mu.
func (t *turns) advance() {
	if t.current != nil || t.next == nil {
		return
	}
	now := t.next
	t.current, t.next = now, nil
	ctx, stop := context.WithCancelCause(t.ctx)
	now.stop = stop
	go func() {
		now.result = t.run(ctx)
		stop(nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.current = nil
		close(now.over)
		if t.ctx.Err() != nil {
			t.stopped = now
			t.refuse()
		}
		t.advance()
	}()
}

// refuse ends the run that waits before it began. The caller holds mu.
func (t *turns) refuse() {
	if t.next != nil {
		t.next.refused = true
		close(t.next.over)
		t.next = nil
	}
}

// last is to be called when ctx has ended. It refuses the run that waits and gives the one that was in progress then,
// nil where none was.
func (t *turns) last() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refuse()
	if t.current != nil {
		return t.current
	}
	return t.stopped
}

// running says whether a run is in progress.
func (t *turns) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current != nil
}
