package local

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// helloTime is how long a client may take to say what it wants: Postgres' authentication_timeout.
const helloTime = time.Minute

// serve is one client, from the door to its end.
func (c *Compute) serve(client *net.TCPConn) {
	client.SetDeadline(time.Now().Add(helloTime))
	hello, err := readHello(client)
	if err != nil {
		return
	}
	client.SetDeadline(time.Time{})
	if hello.isCancel {
		c.passCancel(client, hello.raw)
		return
	}
	held := hold(client)
	port, err := c.admit(hello.client, held.left)
	said, stays := held.release()
	if err == nil {
		defer c.links.Done()
	}
	switch {
	case !stays:
		return
	case errors.Is(err, errNotThere):
		c.turnAway(client)
		return
	case err != nil:
		client.Write(fatal("XX000", "the compute cannot be resumed: "+err.Error()))
		return
	}
	server, err := dial(port)
	if err != nil {
		return
	}
	defer server.Close()
	if _, err := server.Write(append(hello.raw, said...)); err != nil {
		return
	}
	c.mu.Lock()
	c.usage.Connections++
	c.tell(Opened, hello.client, nil)
	c.mu.Unlock()
	relay(client, server)
	c.mu.Lock()
	if c.opt.Family == CountsConnections {
		c.active = time.Now() // it may have come and gone between two looks of the monitor
	}
	c.tell(Closed, hello.client, nil)
	c.mu.Unlock()
}

var (
	errNotThere = errors.New("the server is not there yet")
	errStopped  = errors.New("it was stopped")
	errLeft     = errors.New("the client is gone")
)

// admit sees to it that there is a server, and gives its port. It waits for that only where clients are held, and until
// the client left. Who was admitted is one of the links.
func (c *Compute) admit(client string, left <-chan struct{}) (port int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	resumed := false
	for {
		switch c.state {
		case awake:
			c.active = time.Now() // opening a session counts in every family
			c.links.Add(1)
			return c.server.port, nil
		case stopped:
			return 0, errStopped
		case paused:
			if resumed && c.failed != nil {
				return 0, c.failed
			}
			c.beginResume(client)
		case pausing:
			if c.wanted == nil {
				c.wanted = &client
			}
			if c.opt.Manner == Refused {
				c.door.shut()
			}
		}
		resumed = resumed || c.state == resuming
		if c.opt.Manner != Held {
			return 0, errNotThere
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-left:
			err = errLeft
		}
		c.mu.Lock()
		if err != nil {
			return 0, err
		}
	}
}

// passCancel hands a cancel request on. Where there is no server there is nothing to cancel, and nobody is woken for it.
func (c *Compute) passCancel(client *net.TCPConn, raw []byte) {
	c.mu.Lock()
	if c.state != awake {
		c.mu.Unlock()
		return
	}
	port := c.server.port
	c.links.Add(1)
	defer c.links.Done()
	c.mu.Unlock()
	server, err := dial(port)
	if err != nil {
		return
	}
	defer server.Close()
	server.Write(raw)
	io.Copy(client, server) // nothing, and its end says that the request was taken
}

func dial(port int) (*net.TCPConn, error) {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 5*time.Second)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// relay passes on what both sides say until the server has said its last. A client that only goes away is one whose
// server finds that out by itself, as it would without a door.
func relay(client, server *net.TCPConn) {
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		io.Copy(server, client)
		server.CloseWrite()
	}()
	io.Copy(client, server)
	client.Close()
	server.Close()
	<-passed
}
