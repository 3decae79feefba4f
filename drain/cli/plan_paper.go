package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// A paper is what a plan is printed on: so wide, and with colours or without.
type paper struct {
	out      io.Writer
	width    int
	coloured bool
	err      *error // the first one in writing
}

const (
	yellow = "33"
	red    = "31"
	bold   = "1"
	dim    = "2"
)

// paper is standard output: as wide as the terminal, else as COLUMNS says, else 80. There is colour only on a terminal, and
// none where NO_COLOR is set.
func (p *program) paper() paper {
	environ := environment(p.environ)
	to := paper{out: p.stdout, width: 80, err: new(error)}
	if n, err := strconv.Atoi(environ["COLUMNS"]); err == nil {
		to.width = n
	}
	if isTerminal(p.stdout) {
		if n, _, err := term.GetSize(int(p.stdout.(*os.File).Fd())); err == nil && n > 0 {
			to.width = n
		}
		to.coloured = environ["NO_COLOR"] == "" && environ["TERM"] != "dumb"
	}
	to.width = min(max(to.width, 40), 320)
	return to
}

func (to paper) colour(code, text string) string {
	if !to.coloured || text == "" || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (to paper) line(format string, args ...any) {
	if _, err := fmt.Fprintf(to.out, format+"\n", args...); err != nil && *to.err == nil {
		*to.err = err
	}
}

// wrapped prints words behind a heading, and goes on beneath them where the line is full.
func (to paper) wrapped(heading, colour, text string) {
	indent := utf8.RuneCountInString(heading)
	line, used := "", indent
	first := true
	flush := func() {
		if first {
			to.line("%s%s", to.colour(colour, heading), line)
		} else {
			to.line("%*s%s", indent, "", line)
		}
		first, line, used = false, "", indent
	}
	for _, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		if line != "" && used+1+n > to.width {
			flush()
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	flush()
}
