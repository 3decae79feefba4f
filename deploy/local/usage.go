package local

import "time"

// Usage is what a compute did since it was started, as a vendor would meter it.
type Usage struct {
	Resumes, Pauses int
	// Connections are those that reached the server; whoever was turned away while it resumed is not among them.
	Connections int
	// Awake is the time from the beginning of each resume until the server was gone.
	Awake time.Duration
}

// Usage is what the compute did so far.
func (c *Compute) Usage() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.usage
	if c.state.costs() {
		u.Awake += time.Since(c.since)
	}
	return u
}

// IsPaused says whether no process of the server is there.
func (c *Compute) IsPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == paused
}

// An Event is something that happened to a compute.
type Event struct {
	At   time.Time
	What What
	// Client is the application_name of whose connection it was: opened, closed, or the reason of a resume.
	Client string
	// Err is why a resume failed, or the server ended, by itself. Both come with Paused.
	Err error
}

// A What is a kind of event.
type What string

const (
	Resuming What = "resuming" // a client came, and the server is being started
	Resumed  What = "resumed"
	Pausing  What = "pausing" // the idle timeout is over, and the server is being stopped
	Paused   What = "paused"
	Opened   What = "opened" // a client's connection reached the server
	Closed   What = "closed"
)

// tell tells of an event. The caller holds mu.
func (c *Compute) tell(what What, client string, err error) {
	if c.opt.Observe != nil {
		c.opt.Observe(Event{At: time.Now(), What: what, Client: client, Err: err})
	}
	c.opt.log().Debug("compute", "event", string(what), "client", client, "error", err)
}
