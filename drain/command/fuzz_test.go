package command

import (
	"slices"
	"strings"
	"testing"
)

// What Split makes of any line: no panic; each word, quoted, is that word again; and nothing is expanded, which means
// that quotes, backslashes and white space may go, and every other byte stays, in its order.
func FuzzSplit(f *testing.F) {
	for _, line := range []string{
		`./send-email`, "  a\tb\n c ", `sh -c 'trap "" TERM; sleep 600'`, `printf "a b\"\\" '' c\ d`, `echo $HOME ~ *.go {a,b} $(x) | wc`,
		`"/opt/my tools/run"`, `'' x`, `sh -c 'sleep 1`, `sh -c "sleep 1`, `x \`, "a\\\nb \\\n c", "\"a\\\nb\\$\\`\\x\"", `a'b'"c"\d`,
		"\xff\xfe 'é\xc3' \"\x00\" \\\xf0", "a\rb\r\n", "$'a\\n'", "a#b # c", `"\`, "\\\n", "'\n'",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Split(line)
		if err != nil {
			if said := err.Error(); words != nil || said == "" || strings.Contains(said, "\n") || len(said) > 80 {
				t.Errorf("%q: %q, %q", line, words, said)
			}
			return
		}
		var again []string
		for _, word := range words {
			again = append(again, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
		}
		if back, err := Split(strings.Join(again, " ")); err != nil || !slices.Equal(back, words) {
			t.Errorf("%q: the words %q, quoted, are %q, %v", line, words, back, err)
		}
		if got, want := lasting(strings.Join(words, "")), lasting(line); got != want {
			t.Errorf("%q: the words %q have %q of it, want %q", line, words, got, want)
		}
		if plain := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n", r) }); !strings.ContainsAny(line, `'"\`) &&
			!slices.Equal(words, plain) {
			t.Errorf("%q: the words are %q, want %q", line, words, plain)
		}
	})
}

// lasting is a text without what splitting may take away.
func lasting(text string) string {
	return strings.NewReplacer(`'`, "", `"`, "", `\`, "", " ", "", "\t", "", "\n", "").Replace(text)
}
