package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// database is the one that clients are led to. Not postgres: what vendors count there is not what they count elsewhere.
const database = "app"

// ComputeOptions say how a compute pauses and resumes, apart from which server it is. The zero value is one that counts
// activity, pauses after five minutes and holds its clients while it resumes.
type ComputeOptions struct {
	Options
	// IdleTimeout is how long nothing must keep the compute awake before it pauses; 5 minutes unless set.
	IdleTimeout time.Duration
	// Family says what keeps it awake; CountsActivity unless set.
	Family Family
	// ResumeTime is the least that a resume takes; the time in which the server starts, a few tenths of a second,
	// unless set.
	ResumeTime time.Duration
	// Manner is what clients see while it resumes; Held unless set.
	Manner Manner
	// Observe, where set, is told of every event as it happens, one at a time and in their order. It must not call the
	// compute.
	Observe func(Event)
}

// A Compute is a Postgres that pauses when nothing keeps it awake, and resumes when somebody connects:
//
//	paused ──a client's first message──▶ resuming ──▶ awake ──idle timeout──▶ pausing ──▶ paused
//
// Paused means that there is no process of the server: its data is all that is left of it. Clients connect to its door,
// a port that stays the same. It differs from a vendor's compute in that the door speaks no TLS, and in that statistics
// survive the pause.
//
// What keeps it awake is sampled twice a second by the rules of its [Family], and the sessions of the sampling do not
// count. A request to cancel, or a connection without a word, resumes nothing.
type Compute struct {
	opt    ComputeOptions
	server *Server
	door   *door

	life  context.Context // ends with Stop
	end   context.CancelFunc
	tasks sync.WaitGroup // goroutines
	links sync.WaitGroup // connections that are open to the server, or about to be

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed and replaced with every change of state
	failed  error         // of the last resume
	wanted  *string       // who came first while it was pausing
	active  time.Time     // the last sign of activity
	since   time.Time     // awake since
	usage   Usage
}

type state int

const (
	paused state = iota
	resuming
	awake
	pausing
	stopped
)

// costs says whether a vendor's meter runs.
func (s state) costs() bool { return s == resuming || s == awake || s == pausing }

// StartCompute makes a new server with an empty database behind a door of its own. It starts awake, as one that was
// just made. The context covers the start alone: the compute is there until Stop, or until this process ends.
func StartCompute(ctx context.Context, opt ComputeOptions) (*Compute, error) {
	if opt.IdleTimeout <= 0 {
		opt.IdleTimeout = 5 * time.Minute
	}
	server, err := Start(ctx, opt.Options)
	if err != nil {
		return nil, err
	}
	c := &Compute{opt: opt, server: server, changed: make(chan struct{})}
	if err := c.createDatabase(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make the compute's database: %w", err), server.Stop())
	}
	c.door, err = newDoor(c.serve)
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.state, c.since, c.active = awake, time.Now(), time.Now()
	c.tasks.Go(c.watch)
	return c, nil
}

func (c *Compute) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database+" TEMPLATE template0 STRATEGY file_copy")
	return err
}

// URL is the compute's door, as the superuser postgres, in the database app. It holds the password.
func (c *Compute) URL() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, c.server.password),
		Host:     c.door.addr,
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Stop ends all connections, stops the server and removes its data. It returns when all of that is done; called again,
// it only returns what it returned before.
func (c *Compute) Stop() error {
	c.mu.Lock()
	if c.state.costs() {
		c.usage.Awake += time.Since(c.since)
	}
	c.become(stopped)
	c.mu.Unlock()
	c.end()
	c.door.close()
	c.tasks.Wait()
	err := c.server.Stop()
	c.door.tasks.Wait()
	return err
}

// become changes the state and tells those who wait for that. The caller holds mu.
func (c *Compute) become(s state) {
	c.state = s
	close(c.changed)
	c.changed = make(chan struct{})
}
