package command

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, test := range []struct {
		name  string
		write []string
		want  string
	}{
		{"nothing", nil, ""},
		{"blank", []string{" \n", "\n"}, ""},
		{"in pieces", []string{"no ", "such ", "host\n"}, "no such host"},
		{"lines", []string{"a\nb\n\n"}, "a\nb"},
		{"bad bytes", []string{"bad \xff\xfe bytes"}, "bad \uFFFD bytes"},
		{"Latin-1", []string{"D\xfcsseldorf"}, "D\uFFFDsseldorf"},
		{"as much as fits", []string{long[:tailSize]}, long[:tailSize]},
		{"one byte more", []string{"y", long[:tailSize]}, "[...] " + long[:tailSize]},
		{"one long line", []string{long, long}, "[...] " + long[:tailSize]},
		{"the end of a long line is left out", []string{long, "\nlast"}, "[...] " + long[:tailSize-5] + "\nlast"},
		{"starts at a line", []string{long[:tailSize], "\n", long[:1500]}, "[...] " + long[:1500]},
		{"a character cut in two", []string{strings.Repeat("é", 1100), "z"}, "[...] " + strings.Repeat("é", 1023) + "z"},
		{"blanks", []string{strings.Repeat(" \n", 3000)}, "[...]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var kept tail
			for _, w := range test.write {
				if n, err := kept.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := kept.text(same); got != test.want || !utf8.ValidString(got) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if cap(kept.kept) > 2*(tailSize+secretRoom) {
				t.Errorf("holds %d bytes", cap(kept.kept))
			}
		})
	}
}
