package jobs

import "time"

// clock is the statement that asks for the time: the first and the last of an exchange.
const clock = `select pg_catalog.clock_timestamp()`

// A Skew is how far the database's clock is ahead of this machine's: between Least and Most, and behind where they are
// negative. They are as far apart as the round trip took, however long the statements in it worked.
type Skew struct{ Least, Most time.Duration }

// skew reckons from when an exchange was sent and received, and what the database's clock showed first and last.
func skew(sent, first, last, received time.Time) Skew {
	// Without what time.Now knows beside the clock, for it is clocks that are compared.
	return Skew{Least: last.Sub(received.Round(0)), Most: first.Sub(sent.Round(0))}
}

// Over gives about how far the clocks are apart where that is more than so much for certain, else 0.
func (s Skew) Over(limit time.Duration) time.Duration {
	if s.Least > limit || s.Most < -limit {
		return (s.Least + s.Most) / 2
	}
	return 0
}
