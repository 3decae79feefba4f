package drain

import "time"

// backoff is the delay before the attempt after this one: least(most, base * 2^attempts), and never under a second,
// so that a run cannot spin on jobs that fail at once. Doubling stops at the cap, before anything could overflow.
func backoff(base, most time.Duration, attempts int) time.Duration {
	delay := base
	for range attempts {
		if delay >= most/2+1 {
			delay = most
			break
		}
		delay *= 2
	}
	return max(min(delay, most), time.Second)
}
