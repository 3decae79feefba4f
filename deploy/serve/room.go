package serve

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

const (
	mostConnections  = 256 // whatever the limit of open files is
	leastConnections = 4   // a caller and a probe get through, also where there is no room at all
	ownFiles         = 64  // what ebb has open besides: its log, the database, the listener, files that it writes, lookups
)

// connections is the most at once. Under a limit of open files they leave those that a run needs: whoever reaches the port
// could else have its handlers fail to start.
func connections(limit uint64, runFiles int) int {
	return int(max(leastConnections, min(mostConnections, int64(min(limit, 1<<31))-ownFiles-int64(runFiles))))
}

// patience is how long a connection may be idle where others wait. Who calls takes no time to say what for.
const patience = time.Second

// A room is for the connections that there are. When it is full, those that are idle for longest have to go.
type room struct {
	most int
	full func() // called when it is full and none is idle

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // in idle; nil for those with a request
	idle    list.List
	waiting bool // for the patience to end
}

// An idler is a connection without a request.
type idler struct {
	net.Conn
	since time.Time
}

// bounded is a listener that takes no more connections at once than the room has. Others wait.
func (r *room) bounded(l net.Listener) net.Listener { return netutil.LimitListener(l, r.most) }

// changed is told by the HTTP server what became of a connection.
func (r *room) changed(c net.Conn, state http.ConnState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.open[c]; e != nil {
		r.idle.Remove(e)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		r.open[c] = r.idle.PushBack(idler{c, time.Now()})
		r.make()
	case http.StateActive:
		r.open[c] = nil
	default:
		delete(r.open, c)
	}
}

// make has one connection go where the room is full, now or when the patience with it ends. The next one that comes in then
// calls for the next one to go. The caller holds mu.
func (r *room) make() {
	if len(r.open) < r.most || r.waiting {
		return
	}
	e := r.idle.Front()
	if e == nil {
		r.full()
		return
	}
	first := e.Value.(idler)
	if wait := patience - time.Since(first.since); wait > 0 {
		r.waiting = true
		time.AfterFunc(wait, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.waiting = false
			r.make()
		})
		return
	}
	r.idle.Remove(e)
	delete(r.open, first.Conn)
	first.Close()
}
