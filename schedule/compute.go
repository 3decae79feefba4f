package schedule

import (
	"slices"
	"time"
)

// A Family says what keeps a compute awake.
type Family string

const (
	// Activity: statements and sessions that begin. Idle sessions do not; they are closed by the pause.
	Activity Family = "activity"
	// Connections: any session, however idle.
	Connections Family = "connections"
)

// A Compute is what a serverless database does by itself.
type Compute struct {
	Name   string // of the preset; empty where there is none
	Family Family // empty where it is not known

	// IdleTimeout is how long nothing may happen until it pauses.
	IdleTimeout time.Duration
	// Least and Most are the timeouts that the vendor allows, as far as they are known.
	Least, Most time.Duration
	// Resume is how long it takes to wake up; the awake time begins with it.
	Resume time.Duration
	// PauseLatency is how long it may stay awake beyond the timeout, until it is seen to be idle.
	PauseLatency time.Duration
}

// Presets are computes of which the vendors' figures are known, with the timeouts that apply where nobody set another.
//
// A resume of one second stands for "some hundred milliseconds". Lakebase has had five minutes and 24 hours for its
// default, and the later one is taken. Xata's gateway asks every two seconds whether the compute is there, and its
// sidecar every minute whether it is idle.
func Presets() []Compute {
	const week = 7 * 24 * time.Hour
	return []Compute{
		{Name: "neon", Family: Activity, IdleTimeout: 5 * time.Minute, Least: time.Minute, Most: week, Resume: time.Second},
		{Name: "lakebase", Family: Activity, IdleTimeout: 24 * time.Hour, Least: time.Minute, Most: week, Resume: time.Second},
		{Name: "aurora", Family: Connections, IdleTimeout: 5 * time.Minute, Least: 5 * time.Minute, Most: 24 * time.Hour, Resume: 15 * time.Second},
		{Name: "xata", Family: Connections, IdleTimeout: 30 * time.Minute, Least: time.Minute, Most: 24 * time.Hour, Resume: 2 * time.Second, PauseLatency: time.Minute},
		{Name: "relyt-one", Family: Activity, IdleTimeout: 10 * time.Minute, Resume: time.Second},
	}
}

// Preset is the one of a name.
func Preset(name string) (Compute, bool) {
	all := Presets()
	i := slices.IndexFunc(all, func(c Compute) bool { return c.Name == name })
	if i < 0 {
		return Compute{}, false
	}
	return all[i], true
}
