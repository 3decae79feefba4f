package command

import (
	"slices"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	x := strings.Repeat("x", maxLine)
	full := strings.Repeat("y\n", maxLines)
	for _, test := range []struct {
		name string
		in   string
		want []string
	}{
		{"nothing", "", nil},
		{"lines", "a\nb\n", []string{"a", "b"}},
		{"no final newline", "a\nb", []string{"a", "b"}},
		{"blank lines are left out", "\n\na\n\r\n\nb\n", []string{"a", "b"}},
		{"CRLF", "a\r\nb\r\n", []string{"a", "b"}},
		{"bad bytes", "a\xff\xfeb\n\xfc", []string{"a\uFFFDb", "\uFFFD"}},
		{"longest line", x + "\nb", []string{x, "b"}},
		{"too long a line", x + "zzz\nb\n", []string{x + " [...]", "b"}},
		{"too long a line without an end", x + x + x, []string{x + " [...]"}},
		{"a character cut in two", x[1:] + "é\nb", []string{x[1:] + " [...]", "b"}},
		{"as many lines as the log takes", full, slices.Repeat([]string{"y"}, maxLines)},
		{"more lines", full + "z\nz\nz", append(slices.Repeat([]string{"y"}, maxLines), "[...] 3 more lines")},
		{"more lines with an end", full + "z\nz\n", append(slices.Repeat([]string{"y"}, maxLines), "[...] 2 more lines")},
		{"too many blank lines", strings.Repeat("\n", maxLines+5), []string{"[...] 5 more lines"}},
		{"more bytes", strings.Repeat(x+"\n", 70), append(slices.Repeat([]string{x}, 64), "[...] 6 more lines")},
	} {
		for _, size := range []int{1, 3, 7, 4096, 1 << 20} { // of the pieces in which it comes
			var got []string
			l := lines{redact: same, log: func(line string) { got = append(got, line) }}
			for rest := []byte(test.in); len(rest) > 0; {
				n := min(size, len(rest))
				if wrote, err := l.Write(rest[:n]); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			l.close()
			if !slices.Equal(got, test.want) {
				t.Errorf("%s in pieces of %d: %.200q, want %.200q", test.name, size, got, test.want)
			}
			if cap(l.line) > 2*(maxLine+secretRoom) {
				t.Errorf("%s: holds %d bytes", test.name, cap(l.line))
			}
		}
	}
}

func same(text string) string { return text }
