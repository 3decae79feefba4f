package local

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// The codes in place of a protocol's version, from Postgres' pqcomm.h.
const (
	cancelCode = 80877102
	sslCode    = 80877103
	gssCode    = 80877104
)

// A hello is the first message of a client that is more than a question.
type hello struct {
	raw      []byte
	isCancel bool   // it asks that a statement of another connection be cancelled
	client   string // application_name
}

// readHello reads it, after it answered that there is no encryption to whoever asked.
func readHello(conn io.ReadWriter) (hello, error) {
	for {
		raw := make([]byte, 8)
		if _, err := io.ReadFull(conn, raw); err != nil {
			return hello{}, err
		}
		length, code := binary.BigEndian.Uint32(raw), binary.BigEndian.Uint32(raw[4:])
		if length < 8 || length > 10_000 { // the most that Postgres takes
			return hello{}, errors.New("this is not Postgres' protocol")
		}
		raw = append(raw, make([]byte, length-8)...)
		if _, err := io.ReadFull(conn, raw[8:]); err != nil {
			return hello{}, err
		}
		switch code {
		case sslCode, gssCode:
			if _, err := conn.Write([]byte{'N'}); err != nil {
				return hello{}, err
			}
		case cancelCode:
			return hello{raw: raw, isCancel: true}, nil
		default:
			return hello{raw: raw, client: parameter(raw[8:], "application_name")}, nil
		}
	}
}

// parameter finds a parameter of a startup message: names and values in turn, each with a zero byte at its end.
func parameter(message []byte, name string) string {
	texts := strings.Split(string(message), "\x00")
	for i := 0; i+1 < len(texts); i += 2 {
		if texts[i] == name {
			return texts[i+1]
		}
	}
	return ""
}
