package drain

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStorable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"}, {"", ""}, {"nul \x00 here", "nul \uFFFD here"}, {"bad \xff\xfe bytes", "bad \uFFFD bytes"},
		{"D\xfcsseldorf", "D\uFFFDsseldorf"}, {"\xc3", "\uFFFD"},
	} {
		if got := storable(c.in); got != c.want {
			t.Errorf("storable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	long := "head" + strings.Repeat("é\x00\xff", 1<<20) + "tail"
	if got := storable(long); !strings.HasPrefix(got, "head") || !strings.HasSuffix(got, "tail") || !strings.Contains(got, "bytes cut]") {
		t.Errorf("a long text became %q", got)
	}
}

func FuzzStorable(f *testing.F) {
	f.Add("plain")
	f.Add(strings.Repeat("\x00", maxError))
	f.Add(strings.Repeat("\xf0\x9f", maxError))
	f.Add(strings.Repeat("語", maxError/3+1))
	f.Fuzz(func(t *testing.T, in string) {
		got := storable(in)
		if len(got) > maxError || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%d bytes, %q", len(got), got)
		}
		if utf8.ValidString(in) && len(in) <= maxError && !strings.ContainsRune(in, 0) && got != in {
			t.Errorf("%q became %q", in, got)
		}
	})
}
