package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// demoShow shows the day until it is over: as a picture where there is a terminal with room for one, in lines elsewhere.
func (p *program) demoShow(ctx context.Context, d *demoDay) {
	over := time.NewTimer(d.length)
	defer over.Stop()
	frame := time.NewTicker(200 * time.Millisecond)
	defer frame.Stop()
	style, isPicture := p.demoStyle()
	drawn, told := 0, 0
	for ends := false; !ends; {
		select {
		case <-ctx.Done():
			ends = true
		case <-over.C:
			ends = true
		case <-frame.C:
		}
		d.mu.Lock()
		ends = ends || d.err != nil
		lines, news := []string(nil), d.lines[told:]
		told = len(d.lines)
		if isPicture {
			if width, _, ok := p.size(); ok && width >= demoNarrow {
				style.width = width
			}
			lines = d.picture(time.Now(), style)
		}
		d.mu.Unlock()
		switch {
		case isPicture:
			// In one piece, so that it does not flicker.
			var b strings.Builder
			if drawn > 0 {
				fmt.Fprintf(&b, "\x1b[%dA\r", drawn)
			}
			for _, line := range lines {
				b.WriteString(line + "\x1b[K\n")
			}
			drawn = len(lines)
			io.WriteString(p.stdout, b.String())
		default:
			for _, line := range news {
				p.say("%s", line)
			}
		}
	}
	p.say("")
}

// demoStyle is what the terminal can show, and whether there is one for a picture at all.
func (p *program) demoStyle() (style demoStyle, isPicture bool) {
	environ := environment(p.environ)
	width, height, ok := p.size()
	if !ok || environ["TERM"] == "dumb" || width < demoNarrow || height <= demoHeight {
		return style, false
	}
	style = demoStyle{width: width, colour: environ["NO_COLOR"] == ""}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(environ[name]); value != "" {
			style.utf8 = strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
			break
		}
	}
	return style, true
}

func (p *program) size() (width, height int, ok bool) {
	f, isFile := p.stdout.(*os.File)
	if !isFile || !isTerminal(f) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil
}
