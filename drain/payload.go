package drain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What Postgres 15 to 18 store was measured, with the default max_stack_depth of 2 MB.
const (
	// maxDepth is what encoding/json reads, so that a handler can. Postgres takes 13,000 levels and more.
	maxDepth = 10_000
	// maxMembers bounds an array's elements, or an object's names and values together. Postgres collects them in memory
	// that it doubles when it is full; the next doubling would be more than it allocates at once.
	maxMembers = 1 << 24
	// maxSize is the most bytes of a string, an array or an object in jsonb.
	maxSize = 1<<28 - 1
	// maxWhole and maxFraction are the digits that numeric has before and after the point; maxExponent is the largest
	// exponent that it reads at all, also of a zero.
	maxWhole, maxFraction, maxExponent = 131_072, 16_383, 1<<30 - 2
)

// CheckPayload says what keeps Postgres from storing a payload as jsonb, or from giving it back. The error is
// [ErrRefused] and names the place, as a JSON pointer (RFC 6901) such as /a/0, and what is wrong there. Refused are
//
//   - what is not one JSON value: nothing at all, more after the value, bytes that are no UTF-8
//   - \u0000, and half of a surrogate pair such as \ud800, in a string or a name. A backslash before the text u0000,
//     which JSON writes \\u0000, is legal
//   - arrays and objects more than 10,000 deep
//   - a number of more than 131,072 digits before the point or 16,383 after it when it is written without an exponent,
//     and any exponent over a billion
//   - an array of more than 2^24 elements, an object of more than 2^23 members, and what may take more than 268,435,455
//     bytes, as jsonb or as text
//
// These are the limits of a server with its default settings and UTF8, or are stricter: nothing that passes is refused
// by Postgres, but a few things are refused here that it would store.
//
// The payload is never altered. But jsonb keeps the value and not its text, and the handler gets what Postgres prints:
// names in another order and without white space of one's own, the last of those that are given twice, 1e2 as 100. A
// number keeps all its digits, 1.10 too.
func CheckPayload(payload []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(payload), jsontext.AllowDuplicateNames(true))
	var size footprint
	for {
		kind := d.PeekKind()
		if (kind == '[' || kind == '{') && d.StackDepth() == maxDepth {
			return refuse("payload%s: arrays and objects are more than %d deep", at(d.StackPointer()), maxDepth)
		}
		raw, err := read(d, kind)
		if err != nil {
			return malformed(payload, err)
		}
		if mistake := size.add(kind, raw); mistake != "" {
			return refuse("payload%s: %s", at(d.StackPointer()), mistake)
		}
		depth := d.StackDepth()
		if depth == 0 {
			break
		}
		if _, n := d.StackIndex(depth); n > maxMembers {
			return refuse("payload%s: an array of more than %d elements, or an object of more than %d members",
				at(d.StackPointer().Parent()), maxMembers, maxMembers/2)
		}
	}
	if rest := bytes.TrimLeft(payload[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return refuse("payload: something follows the JSON value, from byte %d on: %s", len(payload)-len(rest), excerpt(rest))
	}
	return nil
}

// read takes the next piece of a value: a bracket, or a whole string, number or literal, as it stands in the payload.
func read(d *jsontext.Decoder, kind jsontext.Kind) ([]byte, error) {
	switch kind {
	case '[', ']', '{', '}':
		_, err := d.ReadToken()
		return nil, err
	}
	return d.ReadValue()
}

// A footprint is the most bytes that a value takes in jsonb and as text. The text may be far longer than what was given,
// because it has no exponents: what was too long for it could be stored but never be read again.
type footprint struct{ stored, printed int }

// add takes a piece into account, and says what is wrong with it.
func (f *footprint) add(kind jsontext.Kind, raw []byte) (mistake string) {
	f.stored += 8 + len(raw) // an entry of 4 bytes, and up to 3 so that the next one is aligned
	f.printed += 2 + len(raw)
	switch kind {
	case '"':
		if hasNUL(raw) {
			return `the character \u0000 (NUL) cannot be stored`
		}
	case '0':
		whole, fraction := digits(raw)
		if whole > maxWhole {
			return fmt.Sprintf("the number %s has more than %d digits before the point, or too large an exponent", excerpt(raw), maxWhole)
		}
		if fraction > maxFraction {
			return fmt.Sprintf("the number %s has more than %d digits after the point", excerpt(raw), maxFraction)
		}
		f.stored += 5 // numeric's header, at least; its digits take two bytes for four
		f.printed += 2 + whole + fraction - len(raw)
	}
	if f.stored > maxSize || f.printed > maxSize {
		return fmt.Sprintf("up to here the payload takes more than %d bytes in the database, or when it is printed", maxSize)
	}
	return ""
}

// hasNUL says whether a string, in quotes and with its escapes, has the one character that jsonb does not store.
func hasNUL(raw []byte) bool {
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return false // the usual case costs no copy
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return err != nil || bytes.IndexByte(text, 0) >= 0
}

// digits gives how many digits a number has before and after the point where it is written without an exponent. An
// exponent that numeric does not even read counts as digits before the point.
func digits(number []byte) (whole, fraction int) {
	mantissa, exponent := bytes.TrimPrefix(number, []byte("-")), 0
	if e := bytes.IndexAny(mantissa, "eE"); e >= 0 {
		var err error
		exponent, err = strconv.Atoi(string(mantissa[e+1:]))
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return maxExponent, 0
		}
		mantissa = mantissa[:e]
	}
	before, after, _ := bytes.Cut(mantissa, []byte("."))
	fraction = max(0, len(after)-exponent)
	// Zeros in front do not count, and zero itself has no other digits.
	if significant := bytes.TrimLeft(before, "0"); len(significant) > 0 {
		whole = len(significant) + exponent
	} else if significant := bytes.TrimLeft(after, "0"); len(significant) > 0 {
		whole = len(significant) - len(after) + exponent
	}
	return max(1, whole), fraction
}

// malformed says what the decoder's error is about, in the payload.
func malformed(payload []byte, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case err == io.EOF:
		return refuse("payload: empty; the least is null")
	case !errors.As(err, &syntax):
		return refuse("payload: %w", err)
	case syntax.Err == io.ErrUnexpectedEOF:
		return refuse("payload%s: the JSON ends too early", at(syntax.JSONPointer))
	}
	text, rest := syntax.Err.Error(), payload[syntax.ByteOffset:]
	switch {
	case len(rest) == 0:
	case isSurrogate(rest):
		text = fmt.Sprintf("%s is half of a surrogate pair", rest[:6])
	case notUTF8(rest):
		text = fmt.Sprintf("0x%02x is not UTF-8", rest[0])
	}
	return refuse("payload%s: %s, at byte %d", at(syntax.JSONPointer), text, syntax.ByteOffset)
}

// isSurrogate says whether a text begins with the escape of a half of a pair.
func isSurrogate(text []byte) bool {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return err == nil && utf16.IsSurrogate(rune(unit))
}

// notUTF8 says whether a text begins with a byte that belongs to no character.
func notUTF8(text []byte) bool {
	r, size := utf8.DecodeRune(text)
	return r == utf8.RuneError && size == 1
}

// at names a place, in quotes because names may have anything in them.
func at(place jsontext.Pointer) string {
	if place == "" {
		return ""
	}
	return " at " + excerpt([]byte(place))
}

// excerpt quotes a text that may be of any length.
func excerpt(text []byte) string {
	const most = 100
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(firstBytes(string(text[:most]), most/2) + "..." + lastBytes(string(text[len(text)-most:]), most/2))
}
