package deploy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// yamlString writes a text as a YAML double-quoted scalar on one line, which no text can break out of. What a YAML reader
// would fold, drop or refuse is escaped.
func yamlString(text string) string { return doubleQuoted(text, 0xff, 0) }

// doubleQuoted writes a text between double quotes with the escapes of C: two digits for what is up to narrow, four or
// eight beyond. The rune in double is written twice; 0 is none.
func doubleQuoted(text string, narrow, double rune) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == double && double != 0:
			b.WriteRune(r)
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ', unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= narrow:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// goodVariable is what every platform takes for the name of a variable.
var goodVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// textual refuses a job without a schedule, and what no file of text can carry to a run unchanged.
func (j Job) textual() error {
	var wrong []error
	if len(j.Schedule) == 0 {
		wrong = append(wrong, errors.New("there is no schedule; set EBB_SCHEDULE, for example to '*/30 * * * *'"))
	}
	for _, v := range j.Settings {
		switch {
		case !goodVariable.MatchString(v.Name):
			wrong = append(wrong, fmt.Errorf("%q: scheduler platforms take letters, digits and underscores for a variable's name; write others as underscores, and set EBB_QUEUE_<Q>_NAME to the queue's own name", v.Name))
		case !utf8.ValidString(v.Value):
			wrong = append(wrong, fmt.Errorf("%s is not UTF-8, and a file of text cannot hold it; have the command itself know such bytes", v.Name))
		case strings.ContainsRune(v.Value, 0):
			wrong = append(wrong, fmt.Errorf("%s holds a NUL, and no variable can; take it out", v.Name))
		}
	}
	for _, arg := range j.Args {
		if !utf8.ValidString(arg) || strings.ContainsRune(arg, 0) {
			wrong = append(wrong, fmt.Errorf("the argument %q holds a NUL or is not UTF-8, and a file of text cannot hold it; put the command into a script", arg))
		}
	}
	return errors.Join(wrong...)
}

// seconds is a duration in whole seconds, none too few.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// plainWord needs no quotes in a systemd unit.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@+-]+$`)

// unitString writes a text as one word of a systemd unit, if need be in double quotes with C escapes; a percent sign
// would begin a specifier, and two stand for one.
func unitString(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return doubleQuoted(text, 0x7f, '%')
}
