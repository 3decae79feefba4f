package local

import "time"

// A Family is what a vendor takes for activity. All of them are in one of two.
type Family int

const (
	// CountsActivity: Neon, Lakebase, Relyt One. Sessions that do something keep the compute awake, idle ones do not
	// since they last did; opening one does, and so do autovacuum workers, WAL senders and subscriptions. A pause kills
	// idle sessions.
	CountsActivity Family = iota
	// CountsConnections: Aurora, Xata. Any session keeps the compute awake, however idle.
	CountsConnections
)

func (f Family) String() string {
	return [...]string{"counts activity", "counts connections"}[f]
}

// A sample is what the monitor sees at one moment; its own session is left out.
type sample struct {
	ActiveTime    float64 // all that sessions ever worked, as far as they said
	Opened        int64   // all sessions that there ever were
	Busy          int     // sessions that are not idle: in a transaction counts
	Sessions      int
	IdleFor       float64 // seconds since a session last changed its state; negative where there is none
	Autovacuum    int     // its workers
	Walsenders    int
	Subscriptions int
}

// lastActivity is the latest moment up to now at which something kept the compute awake, as far as two samples tell.
// Before is nil where there is none. The zero time stands for long ago.
func (f Family) lastActivity(before *sample, s sample, now time.Time) time.Time {
	if f == CountsConnections {
		if s.Sessions+s.Walsenders > 0 {
			return now
		}
		return time.Time{}
	}
	if before != nil && (s.ActiveTime != before.ActiveTime || s.Opened != before.Opened) {
		return now
	}
	if s.Busy+s.Autovacuum+s.Walsenders+s.Subscriptions > 0 {
		return now
	}
	if s.IdleFor < 0 {
		return time.Time{}
	}
	return now.Add(-time.Duration(s.IdleFor * float64(time.Second)))
}
