package command

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// What the log takes of one stream of one job.
const (
	maxLine      = 4 << 10
	maxLines     = 1000
	maxLineBytes = 256 << 10
)

// secretRoom is how much more than what is shown of a text is looked at for secrets. A secret that the cut would take
// apart is seen whole, and goes with what comes after the cut where it is not.
const secretRoom = 4 << 10

// lines cuts a stream into lines for the log. It takes any amount and holds no more than one cut line.
type lines struct {
	log    func(line string)
	redact func(string) string

	line    []byte // the line so far
	dropped bool   // the line was too long: it is logged, the rest of it is passed over
	count   int
	size    int
	more    int  // lines beyond the bounds
	open    bool // the last of these has not ended yet
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if l.full() && !l.dropped {
			l.more += bytes.Count(p, []byte{'\n'})
			l.open = p[len(p)-1] != '\n'
			break
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.add(p)
			break
		}
		l.add(p[:end])
		l.end()
		p = p[end+1:]
	}
	return n, nil
}

// close logs a last line without an end, and how many lines there were that the log did not take.
func (l *lines) close() {
	if len(l.line) > 0 {
		l.end()
	}
	if l.open {
		l.more++
	}
	if l.more > 0 {
		l.log(fmt.Sprintf("%s %d more lines", cutMark, l.more))
	}
}

func (l *lines) full() bool { return l.count >= maxLines || l.size >= maxLineBytes }

func (l *lines) add(p []byte) {
	if l.dropped {
		return
	}
	room := maxLine + secretRoom - len(l.line)
	l.line = append(l.line, p[:min(room, len(p))]...)
	if len(p) > room {
		l.put(l.redact(string(l.line)), true)
		l.dropped = true
	}
}

func (l *lines) end() {
	if !l.dropped {
		l.put(l.redact(string(bytes.TrimRight(l.line, "\r"))), false)
	}
	l.line, l.dropped = l.line[:0], false
}

// put logs a line, or its beginning, unless it is blank: then it only counts.
func (l *lines) put(line string, isCut bool) {
	if isCut { // a secret may have begun where it ends
		line = line[:max(0, len(line)-secretRoom)]
	}
	if isCut || len(line) > maxLine {
		line = valid(wholeRunes([]byte(line[:min(maxLine, len(line))]))) + " " + cutMark
	}
	line = valid([]byte(line))
	l.count++
	l.size += len(line)
	if line != "" {
		l.log(line)
	}
}

// wholeRunes takes the beginning of a character off the end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
