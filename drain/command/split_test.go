package command

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
		err  string
	}{
		{line: `./send-email`, want: []string{"./send-email"}},
		{line: "  a\tb\n c ", want: []string{"a", "b", "c"}},
		{line: `sh -c 'sleep 600; true'`, want: []string{"sh", "-c", "sleep 600; true"}},
		{line: `sh -c 'trap "" TERM; sleep 600'`, want: []string{"sh", "-c", `trap "" TERM; sleep 600`}},
		{line: `printf "a b\"\\" '' c\ d`, want: []string{"printf", `a b"\`, "", "c d"}},
		{line: `echo $HOME ~ *.go {a,b} | wc`, want: []string{"echo", "$HOME", "~", "*.go", "{a,b}", "|", "wc"}},
		{line: `"/opt/my tools/run"`, want: []string{"/opt/my tools/run"}},
		{line: "", err: "the command is empty"},
		{line: " \t\n", err: "the command is empty"},
		{line: `'' x`, err: "the command's first word, the program, is empty"},
		{line: `sh -c 'sleep 1`, err: "a single quote (') is never closed"},
		{line: `sh -c "sleep 1`, err: `a double quote (") is never closed`},
		{line: `x \`, err: `it ends in a backslash (\) with nothing behind it`},
	} {
		t.Run(test.line, func(t *testing.T) {
			got, err := Split(test.line)
			if text(err) != test.err || !slices.Equal(got, test.want) {
				t.Errorf("%q, %v; want %q, %s", got, err, test.want, test.err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
