package awake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// A Verdict is what a snapshot means to a compute.
type Verdict struct {
	// Reasons are who and what keeps it awake, or may, or is there and does not: the worst first.
	Reasons []Reason
	// CouldPauseAt is the earliest time, by the database's clock and with nobody coming; nil where a reason holds it
	// awake for as long as that stays. That some reasons may hold it, or that it takes the compute longer to notice, is not
	// reckoned in.
	CouldPauseAt *time.Time
	// Certain says that there is no reason of which it is not known whether it holds.
	Certain bool
	// LastActive is when, before it was asked, those who are still there were last active; nil where nobody is. Sessions
	// that are gone left no trace: it may have been active since.
	LastActive *time.Time
	// Woken says that asking woke it; else asking prolonged its time awake.
	Woken bool
	// Paused says that it paused while it was watched, so that nothing can be compared.
	Paused bool
}

// A Reason is one or several sessions of the same kind, from the same place; or something that has no session.
type Reason struct {
	Kind                                 Kind
	Holds                                *bool // nil: not known
	PIDs                                 []int
	Application, User, Address, Database string
	Since                                *time.Time // the oldest is in its state
	LastActive                           *time.Time // when it counted last, by the compute's rules; nil where not known
	What                                 string     // a sentence
	Change                               string     // what to do about it
}

// Verdict weighs a snapshot. An unknown family is not guessed: what only one of them counts is not known to hold.
func (s Snapshot) Verdict(compute schedule.Compute) Verdict {
	v := Verdict{Certain: true, Woken: s.At.Sub(s.Start) < s.Waited}
	v.Paused = s.Before != nil && !s.Before.Start.Equal(s.Start)
	v.Reasons = slices.Concat(s.ofSessions(compute.Family), s.ofServer(compute.Family), s.ofWatch(compute.Family))
	held := false
	for i := range v.Reasons {
		r := &v.Reasons[i]
		r.What = r.sentence(s.At)
		r.Change = r.Kind.change(compute.Family, compute.IdleTimeout, s.Role)
		switch {
		case r.Holds == nil:
			v.Certain = false
		case *r.Holds:
			held = true
			r.LastActive = &s.At
		case compute.Family == schedule.Connections:
			r.LastActive = nil
		}
		if r.LastActive != nil && (v.LastActive == nil || r.LastActive.After(*v.LastActive)) {
			v.LastActive = r.LastActive
		}
	}
	if !held {
		// Asking was the last activity, whatever was before.
		at := s.At.Add(compute.IdleTimeout)
		v.CouldPauseAt = &at
	}
	slices.SortStableFunc(v.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(harm(a.Holds), harm(b.Holds)), cmp.Compare(slices.Index(worst, a.Kind), slices.Index(worst, b.Kind)),
			cmp.Compare(len(b.PIDs), len(a.PIDs)))
	})
	return v
}

func harm(holds *bool) int {
	switch {
	case holds == nil:
		return 1
	case *holds:
		return 0
	}
	return 2
}

// ofSessions are the sessions that are there now, those of one kind and place together.
func (s Snapshot) ofSessions(family schedule.Family) (all []Reason) {
	for _, one := range s.Sessions {
		k := one.kind()
		if k == "" {
			continue
		}
		holds := k.holds(family)
		if (k == Idle || k == Listening) && family != schedule.Connections && s.movedSince(one) {
			k, holds = Polling, nil
		}
		r := Reason{Kind: k, Holds: holds, Application: one.Application, User: one.User, Address: one.Address, Database: one.Database}
		i := slices.IndexFunc(all, func(x Reason) bool {
			return x.Kind == r.Kind && x.Application == r.Application && x.User == r.User && x.Address == r.Address && x.Database == r.Database
		})
		if i < 0 {
			i, all = len(all), append(all, r)
		}
		into := &all[i]
		into.PIDs = append(into.PIDs, one.PID)
		if k == Unknown || one.Changed == nil {
			continue
		}
		if into.Since == nil || one.Changed.Before(*into.Since) {
			into.Since = one.Changed
		}
		if into.LastActive == nil || one.Changed.After(*into.LastActive) {
			into.LastActive = one.Changed
		}
	}
	return all
}

// movedSince says whether a session did something since the snapshot before.
func (s Snapshot) movedSince(one Session) bool {
	if s.Before == nil || one.Changed == nil || one.Began == nil {
		return false
	}
	return slices.ContainsFunc(s.Before.Sessions, func(x Session) bool {
		return x.PID == one.PID && x.Began != nil && x.Began.Equal(*one.Began) && x.Changed != nil && !x.Changed.Equal(*one.Changed)
	})
}

// ofServer are reasons that have no client.
func (s Snapshot) ofServer(family schedule.Family) (all []Reason) {
	for _, name := range s.Subscriptions {
		all = append(all, Reason{Kind: Subscription, Holds: Subscription.holds(family), Application: name})
	}
	if s.Cron {
		all = append(all, Reason{Kind: Cron})
	}
	return all
}

// ofWatch are reasons that only the difference to the snapshot before shows.
func (s Snapshot) ofWatch(family schedule.Family) (all []Reason) {
	if s.Before == nil || !s.Before.Start.Equal(s.Start) {
		return nil
	}
	for _, now := range s.Databases {
		if family == schedule.Activity && slices.Contains([]string{"postgres", "template0", "template1"}, now.Name) {
			continue // its rules leave them out
		}
		i := slices.IndexFunc(s.Before.Databases, func(x Database) bool { return x.Name == now.Name })
		var before Database
		if i >= 0 {
			before = s.Before.Databases[i]
		}
		opened, worked := now.Opened-before.Opened, now.ActiveMS-before.ActiveMS
		if now.Name == s.Database {
			// The second look's own session, and all that the first look's can have worked.
			opened--
			worked -= float64((2*s.Before.Took + 20*time.Millisecond) / time.Millisecond)
		}
		switch {
		case opened > 0:
			sessions := "1 session was"
			if opened > 1 {
				sessions = fmt.Sprintf("%d sessions were", opened)
			}
			all = append(all, Reason{Kind: Opening, Database: now.Name, What: fmt.Sprintf("%s opened in %s", sessions, schedule.Length(s.At.Sub(s.Before.At)))})
		case worked > 0 && family != schedule.Connections:
			all = append(all, Reason{Kind: Working, Database: now.Name, What: fmt.Sprintf("sessions worked for %.0f ms in %s", worked, schedule.Length(s.At.Sub(s.Before.At)))})
		}
	}
	return all
}

// sentence says what a reason is.
func (r Reason) sentence(at time.Time) string {
	var b strings.Builder
	sessions := "1 session"
	if n := len(r.PIDs); n > 1 {
		sessions = fmt.Sprintf("%d sessions", n)
	}
	switch r.Kind {
	case Subscription:
		return fmt.Sprintf("the subscription %s receives changes from elsewhere", r.Application)
	case Cron:
		return "pg_cron is installed; what it runs, and when, cannot be seen here"
	case Opening, Working:
		b.WriteString(r.What)
	case Unknown:
		b.WriteString(sessions + " of which this role may not see what it does")
	case Walsender:
		b.WriteString(sessions + " sending WAL")
	case Autovacuum:
		b.WriteString("autovacuum at work")
	case Polling:
		b.WriteString(sessions + " that worked while it was watched")
	case Listening:
		b.WriteString(sessions + " with a LISTEN")
	default:
		b.WriteString(sessions + " " + string(r.Kind))
	}
	if r.Since != nil {
		fmt.Fprintf(&b, " for %s", schedule.Length(max(0, at.Sub(*r.Since))))
	}
	var who []string
	for _, part := range [][2]string{{"application ", r.Application}, {"user ", r.User}, {"from ", r.Address}, {"database ", r.Database}} {
		if part[1] != "" {
			who = append(who, part[0]+part[1])
		}
	}
	if len(who) > 0 {
		b.WriteString(": " + strings.Join(who, ", "))
	}
	return b.String()
}
