package schema

import "time"

// A sight is what one look at a build showed.
type sight int

const (
	nothing sight = iota // there was no looking, or no such statement: the session may be gone, or not be shown
	atWork
	waits
)

// A look is a sight, and for whom a build that waits does so.
type look struct {
	sight
	who string
}

// waiting is for how long a build has waited, as far as that was seen.
type waiting struct {
	since time.Time // when it was last seen at work, or was begun
	last  look      // that showed anything
}

// blind is the timeout when progress cannot be observed: as long as one may wait that is seen, and a second for
// each megabyte of its table, which the slowest of computes read in that time.
func blind(patience time.Duration, bytes int64) time.Duration {
	return patience + time.Duration(bytes>>20)*time.Second
}

// take takes in one look.
func (w *waiting) take(l look, now time.Time) {
	switch l.sight {
	case nothing: // is no sign of work, so the time goes on
		return
	case atWork:
		w.since = now
	}
	w.last = l
}

// inVain says whether to give up: after patience where the build was seen to wait, and after blind where nothing has
// been seen of it for that long.
func (w waiting) inVain(now time.Time, patience, blind time.Duration) bool {
	limit := blind
	if w.last.sight == waits {
		limit = patience
	}
	return now.Sub(w.since) >= limit
}

// blockedBy is for whom the build was last seen to wait.
func (w waiting) blockedBy() string {
	if w.last.sight != waits {
		return unseen
	}
	return w.last.who
}
