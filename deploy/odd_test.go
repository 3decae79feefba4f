package deploy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// odd are values that try to break out of the file that holds them. They have no control characters but tab and newline,
// which some platforms do not take.
func odd(prefix string) (all []Variable) {
	for i, value := range []string{
		"plain", `'single' "double" \ back\\slash \n \x41 \`, "two\nlines\n", "tab\tand  blanks", " blanks around ", "\nnewline first",
		"$HOME ${HOME} $(HOME) $$HOME $", "%h %% %", "{{.Name}} ${{ secrets.X }} <% %>", "# no comment", "a: b, [c], {d}, - e",
		"!tag &anchor *alias | > @ `", "true", "007", "1e3", "~", "null", "2026-11-30", "é ß 漢字 🌊 \u00a0\u2028\u2029\u0085\ufeff", "; echo",
		"${jndi}\n---\nkind: Secret", "${EBB_ODD_0}", strings.Repeat("long ", 400) + "end", "=", "a=b", "'", `"`, `\`, "%n%d",
	} {
		all = append(all, Variable{fmt.Sprint(prefix, i), value})
	}
	return all
}

// oddArguments are odd values as the command behind --.
func oddArguments() []string {
	args := []string{"run", "--queue", "email", "--", "/app/send-email", ";", "", "&&"}
	for _, v := range odd("") {
		args = append(args, v.Value)
	}
	return args
}

// words undoes systemd's quoting, as systemd.syntax(7) has it: words between white space, quotes around all or a part of
// one, C escapes.
func words(t *testing.T, line string) (all []string) {
	t.Helper()
	var word strings.Builder
	var quote byte
	inside := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\':
			r, size, err := unescaped(line[i+1:])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			word.WriteString(r)
			inside, i = true, i+size
		case quote == 0 && (c == '"' || c == '\''):
			quote, inside = c, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			if inside {
				all = append(all, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteByte(c)
			inside = true
		}
	}
	if quote != 0 {
		t.Fatalf("%s: a quote is open", line)
	}
	if inside {
		all = append(all, word.String())
	}
	return all
}

// unescaped reads what stands behind a backslash.
func unescaped(text string) (is string, size int, err error) {
	if text == "" {
		return "", 0, fmt.Errorf("it ends in a backslash")
	}
	single := map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", 's': " ", '\\': `\`, '"': `"`, '\'': `'`, '$': "$", '`': "`"}
	if is, ok := single[text[0]]; ok {
		return is, 1, nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[0]]
	if digits == 0 || len(text) <= digits {
		return "", 0, fmt.Errorf("the escape \\%s is none", text[:1])
	}
	n, err := strconv.ParseUint(text[1:1+digits], 16, 32)
	return string(rune(n)), 1 + digits, err
}
