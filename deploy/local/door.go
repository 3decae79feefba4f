package local

import (
	"net"
	"sync"
	"time"
)

// A door is the port that clients connect to. It can be shut, and opened again at the same place.
type door struct {
	addr  string
	serve func(*net.TCPConn)
	tasks sync.WaitGroup

	mu       sync.Mutex
	wanted   bool         // be open
	listener net.Listener // nil while it is shut
	inside   map[*net.TCPConn]bool
	closed   bool
}

func newDoor(serve func(*net.TCPConn)) (*door, error) {
	d := &door{addr: "127.0.0.1:0", serve: serve, wanted: true, inside: map[*net.TCPConn]bool{}}
	if err := d.listen(); err != nil {
		return nil, err
	}
	d.addr = d.listener.Addr().String()
	return d, nil
}

// listen opens the door where it is to be open and is not. The caller holds mu, once others have seen the door.
func (d *door) listen() error {
	if !d.wanted || d.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		return err
	}
	d.listener = l
	d.tasks.Go(func() { d.accept(l) })
	return nil
}

func (d *door) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // it was shut
		}
		client := conn.(*net.TCPConn)
		d.mu.Lock()
		if d.closed {
			d.mu.Unlock()
			client.Close()
			return
		}
		d.inside[client] = true
		d.tasks.Go(func() {
			defer d.leave(client)
			d.serve(client)
		})
		d.mu.Unlock()
	}
}

func (d *door) leave(client *net.TCPConn) {
	client.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inside, client)
}

// shut closes the port: who comes is refused. Who is inside stays.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shutNow()
}

func (d *door) shutNow() {
	d.wanted = false
	if d.listener != nil {
		d.listener.Close()
		d.listener = nil
	}
}

// open opens the port again where it was shut. Somebody else may have been given it meanwhile, most likely for the
// moment that a connection of theirs lasts; so it is tried until it succeeds, or the door is to be shut again.
func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = !d.closed
	d.listenOn()
}

func (d *door) listenOn() {
	if d.listen() != nil {
		time.AfterFunc(10*time.Millisecond, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.listenOn()
		})
	}
}

// hurry gives everybody inside a second for what is left to say.
func (d *door) hurry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for client := range d.inside {
		client.SetWriteDeadline(time.Now().Add(time.Second))
	}
}

// close shuts the door for good and sends everybody home. The tasks are over when the server has let go of them too.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.shutNow()
	for client := range d.inside {
		client.Close()
	}
}
