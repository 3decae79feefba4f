package local

import (
	"errors"
	"net"
	"os"
	"time"
)

// A held is a client that waits for the server. Somebody has to notice when it leaves: the server would else be told of
// a client that is there no more.
type held struct {
	client *net.TCPConn
	left   chan struct{} // closed when it leaves
	over   chan struct{} // closed when nobody looks any more
	said   []byte
	err    error
}

func hold(client *net.TCPConn) *held {
	h := &held{client: client, left: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(h.over)
		buffer := make([]byte, 4096)
		n, err := client.Read(buffer) // a client has nothing to say before it is asked for its password
		h.said, h.err = buffer[:n], err
		if !h.stays() {
			close(h.left)
		}
	}()
	return h
}

// release ends the wait. It gives what the client said meanwhile, and whether it is still there.
func (h *held) release() (said []byte, stays bool) {
	h.client.SetReadDeadline(time.Unix(1, 0))
	<-h.over
	h.client.SetReadDeadline(time.Time{})
	return h.said, h.stays()
}

func (h *held) stays() bool { return h.err == nil || errors.Is(h.err, os.ErrDeadlineExceeded) }
