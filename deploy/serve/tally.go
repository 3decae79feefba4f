package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// tallyTime is how often what strangers can cause is logged.
const tallyTime = time.Minute

// A tally logs what strangers can cause as often as they like: the first time at once, and from then on a line a minute that
// says how often it came.
type tally struct {
	log *slog.Logger

	mu    sync.Mutex
	lines map[string]*counted
}

// A counted is what is logged in one of the coming minutes.
type counted struct {
	times int
	say   func(times int)
	timer *time.Timer
}

// note logs a text with what belongs to it, or has it counted.
func (t *tally) note(level slog.Level, text string, about ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.lines[text]; c != nil {
		c.times++
		c.say = func(times int) {
			t.log.Log(context.Background(), level, text, append(about, "times", times, "since", tallyTime.String()+" ago")...)
		}
		return
	}
	t.log.Log(context.Background(), level, text, about...)
	if t.lines == nil {
		t.lines = map[string]*counted{}
	}
	t.lines[text] = &counted{timer: time.AfterFunc(tallyTime, func() { t.minute(text) })}
}

// minute logs what was counted, and goes on counting as long as something was.
func (t *tally) minute(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.lines[text]
	switch {
	case c == nil: // it has ended
	case c.times == 0:
		delete(t.lines, text)
	default:
		c.say(c.times)
		c.times = 0
		c.timer.Reset(tallyTime)
	}
}

// end logs what was counted and not logged yet.
func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.lines {
		c.timer.Stop()
		if c.times > 0 {
			c.say(c.times)
		}
	}
	t.lines = nil
}

// Write takes a line of the HTTP server's own log.
func (t *tally) Write(line []byte) (int, error) {
	t.note(slog.LevelWarn, "the HTTP server reports an error", "error", string(line))
	return len(line), nil
}
