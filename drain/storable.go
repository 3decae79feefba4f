package drain

import (
	"fmt"
	"strings"
)

// maxError is the most of an error's text that a row keeps; with what last_error starts with it stays under 8 KiB.
const maxError = 8<<10 - 256

// storable makes any text one that Postgres takes, in at most [maxError] bytes: head and tail are kept and the cut is
// marked, NUL and bytes that are no UTF-8 become U+FFFD. A text of any size costs no more than what is kept of it.
func storable(text string) string {
	if len(text) <= maxError {
		text = clean(text)
		if len(text) <= maxError { // replacements are longer than what they replace
			return text
		}
	}
	mark := fmt.Sprintf(" ... [%d bytes cut] ... ", len(text)-maxError)
	keep := maxError - len(mark) - 8
	// A replacement takes three bytes at most for one, so a third of the room on either side is sure to fit.
	head, tail := clean(text[:keep/2]), clean(text[len(text)-keep/2:])
	head, tail = firstBytes(head, keep/2), lastBytes(tail, keep/2)
	return head + mark + tail
}

func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// firstBytes and lastBytes cut a valid text between characters.
func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-n:], "")
}
