package local

import (
	"encoding/binary"
	"net"
)

// A Manner is what clients see while a compute resumes. The client whose message resumes it sees it too.
type Manner int

const (
	// Held clients wait until the server is there, as at Neon's proxy and Aurora.
	Held Manner = iota
	// Refused clients find the port closed. Somebody must be heard to resume the compute, so the port is open while it
	// is paused: the connection that resumes it is taken and reset, and the port is closed from then until the compute
	// is there.
	Refused
	// Starting clients get FATAL 57P03, the database system is starting up.
	Starting
	// Reset clients are cut off after their first message.
	Reset
)

func (m Manner) String() string {
	return [...]string{"held", "refused", "57P03", "reset"}[m]
}

// turnAway ends the connection of a client that came while there was no server, and is not held.
func (c *Compute) turnAway(client *net.TCPConn) {
	switch c.opt.Manner {
	case Starting:
		client.Write(fatal("57P03", "the database system is starting up"))
	case Refused, Reset:
		reset(client)
	}
}

// reset closes a connection so that the other side is told by a RST.
func reset(conn *net.TCPConn) {
	conn.SetLinger(0)
	conn.Close()
}

// fatal is an ErrorResponse after which the connection is closed.
func fatal(code, message string) []byte {
	var fields []byte
	for _, field := range []string{"SFATAL", "VFATAL", "C" + code, "M" + message} {
		fields = append(append(fields, field...), 0)
	}
	fields = append(fields, 0)
	answer := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(fields)))
	return append(answer, fields...)
}
