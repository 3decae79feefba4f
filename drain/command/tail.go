package command

import (
	"strings"
	"unicode/utf8"
)

// tailSize bounds what is kept of standard error for the error text.
const tailSize = 2 << 10

// cutMark stands where text was left out.
const cutMark = "[...]"

// A tail keeps the last bytes that were written to it.
type tail struct {
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	const most = tailSize + secretRoom
	n := len(p)
	t.cut = t.cut || len(t.kept)+n > most
	p = p[max(0, n-most):]
	if over := len(t.kept) + len(p) - most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// text is the tail as valid UTF-8 without secrets, starting at a line where one starts in its first half.
func (t *tail) text(redact func(string) string) string {
	text := redact(string(t.kept))
	if t.cut { // a secret may have ended where it begins
		text = text[min(secretRoom, len(text)):]
	}
	if !t.cut && len(text) <= tailSize {
		return strings.TrimSpace(valid([]byte(text)))
	}
	text = text[max(0, len(text)-tailSize):]
	if i := strings.IndexByte(text[:len(text)/2], '\n'); i >= 0 {
		text = text[i+1:]
	}
	for i := 0; i < utf8.UTFMax-1 && len(text) > 0 && !utf8.RuneStart(text[0]); i++ {
		text = text[1:]
	}
	return strings.TrimSpace(cutMark + " " + strings.TrimSpace(valid([]byte(text))))
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
