package drain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func ExampleCheckPayload() {
	for _, payload := range []string{
		`{"to": [1, "\\u0000", "\ud83d\ude00"]}`,
		`{"to": [1, "a\u0000b"]}`,
		`{"to": ["\ud83d"]}`,
		`{"amount": 1e200000}`,
		`{"to": 1} {"to": 2}`,
	} {
		fmt.Println(drain.CheckPayload([]byte(payload)))
	}
	// Output:
	// <nil>
	// payload at "/to/1": the character \u0000 (NUL) cannot be stored
	// payload at "/to/0": \ud83d is half of a surrogate pair, at byte 9
	// payload at "/amount": the number "1e200000" has more than 131072 digits before the point, or too large an exponent
	// payload: something follows the JSON value, from byte 10 on: "{\"to\": 2}"
}

func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// What is nasty about JSON, and where Postgres' limits are.
var nasty = []string{
	`{"a":"x\u0000y"}`, `{"a":"\\u0000"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, `{"a":"\ud83d\ude00"}`,
	`{"k\u0000":1}`, "{\"a\":\"\xff\"}",
	`{"id":9007199254740993}`, `{"id":1234567890123456789}`, `{"n":-9223372036854775808}`, `{"n":18446744073709551616}`,
	`{"p":1.10}`, `{"e":1e400}`, `{"s":"<a>&\u2028"}`,

	``, ` `, "\n", `null`, `true`, `nul`, `nullx`, `True`, `""`, `"`, `"\"`, `"\\"`, `'a'`, `"a" `, ` "a"`, "\ufeff1", "1\x00", "\x001",
	`"\\\u0000"`, `"\\\\u0000"`, `"\\\\\u0000"`, `"\u0000"`, `"\u000"`, `"\U0000"`, `"\u00 0"`, `"\x00"`, "\"\x00\"", "\"\x1f\"",
	"\"\x7f\"", "\"\t\"", `"\/\b\f\n\r\t"`, `"\a"`, `"\v"`, `"\0"`, "\"\\\n\"", `"\u0001"`, `"\uffff\ufffe\ufdd0"`, "\"\uffff\"",
	`"\ud83d"`, `"\ude00"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx\ude00"`, `"\ud83d\n"`, `"\uD83D\uDE00"`, `"\ud83d\u0041"`, `"\ud83d\\ude00"`,
	"\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\xc0\x80\"", "\"\xc3\"", "\"\xe2\x82\"", "\"\xe2\x28\xa1\"", "\xff",
	"\"\U0001F600\"", "\"\u2028\u2029\"", "\"\u00a0\"", "\u00a01", "\v1", "\f1", "\r\n\t 1",
	`[]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `1]`, `[1]]`, `[}`, `{]`, `{}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:1}`, `{"a":1 "b":2}`,
	`{"a":1,"a":2}`, `{"":1}`, `{"a":{"a":1}}`, `[[],{}]`, `[]{}`, `1 2`, `[] //c`, `/**/1`, `#`, `NaN`, `Infinity`, `-Infinity`, `undefined`,
	`{"k\ud800":1}`, "{\"\xff\":1}", `{"a":[{"b":"\u0000"}]}`, `{"a/b~c":"\u0000"}`,
	`0`, `-0`, `00`, `01`, `-01`, `+1`, `-`, `.5`, `5.`, `1.e1`, `1e`, `1e+`, `1E5`, `1e+05`, `1.0E-2`, `0x10`, `1_000`, `0b1`, `1e1.5`, `--1`, `1-`,
	`-0.0`, `-0e-5`, `0e-16383`, `0e-16384`, `0e131072`, `0e1000000001`, `0e1073741822`, `0e1073741824`, `0e99999999999999999999`, `1e99999999999999999999`,
	`1e-99999999999999999999`, `1e131071`, `1e131072`, `-9.99e131071`, `0.1e131072`, `0.1e131073`, `0.00001e131076`, `0.00001e131077`,
	`1e-16383`, `1e-16384`, `1.5e-16382`, `1.5e-16383`, `1e00000000000000000000001`, `1e-00000000000000000000001`, `1e+131071`, `[1e131072]`,
	strings.Repeat("9", 131072), strings.Repeat("9", 131073), "1." + strings.Repeat("1", 16383), "1." + strings.Repeat("1", 16384),
	"1." + strings.Repeat("0", 16384), "1." + strings.Repeat("1", 16384) + "e1", "0." + strings.Repeat("0", 300000) + "1e300001",
	"0." + strings.Repeat("0", 20000) + "1", strings.Repeat("9", 131072) + "." + strings.Repeat("9", 16383),
	strings.Repeat("9", 140000) + "e-10000", strings.Repeat("9", 200000) + "e-100000",
	nested(`[`, ``, `]`, 10000), nested(`{"a":`, `1`, `}`, 10000), nested(`{"a":[`, `[]`, `]}`, 4999),
	nested(`[`, ``, `]`, 20000), nested(`{"a":`, `1`, `}`, 20000), nested(`[`, ``, ``, 20000), nested(`[`, ``, `]`, 10000) + `,`,
	`"` + strings.Repeat(`a`, 1<<20) + `"`, `{"` + strings.Repeat(`k`, 1<<20) + `":1}`,
}

// What Postgres stores and CheckPayload refuses all the same: nothing else.
var stricter = map[string]bool{
	nested(`[`, ``, `]`, 10001): true, // handlers could not read it
}

func TestCheckPayloadAgreesWithPostgres(t *testing.T) {
	db := schematest.Connect(t, schematest.Empty(t))
	accepted := 0
	for _, payload := range nasty {
		if agree(t, db, payload) {
			accepted++
		}
	}
	if accepted < 60 || accepted > len(nasty)-60 {
		t.Errorf("%d of %d payloads are accepted: that is no test", accepted, len(nasty))
	}
	for payload := range stricter {
		if err := drain.CheckPayload([]byte(payload)); !errors.Is(err, drain.ErrRefused) {
			t.Errorf("%.40s: %v", payload, err)
		}
		if err := store(t.Context(), db, payload); err != nil {
			t.Errorf("%.40s: Postgres refuses it too: %v", payload, err)
		}
	}
}

// Pieces are put together at random, and legal payloads are damaged: both sides have to agree about every one.
func TestCheckPayloadAgreesWithPostgresAtRandom(t *testing.T) {
	db := schematest.Connect(t, schematest.Empty(t))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	accepted, all := 0, 6000
	for range all {
		payload := value(random, 4)
		for range random.IntN(3) {
			payload = damage(random, payload)
		}
		if agree(t, db, payload) {
			accepted++
		}
		if t.Failed() {
			return
		}
	}
	if accepted < all/10 || accepted > all*9/10 {
		t.Errorf("%d of %d payloads are accepted: that is no test", accepted, all)
	}
}

func FuzzCheckPayload(f *testing.F) {
	for _, payload := range nasty {
		if len(payload) < 1000 {
			f.Add(payload)
		}
	}
	db := schematest.Connect(f, schematest.Empty(f))
	f.Fuzz(func(t *testing.T, payload string) { agree(t, db, payload) })
}

// agree holds CheckPayload to what Postgres says of the same bytes.
func agree(t *testing.T, db *pgx.Conn, payload string) (accepted bool) {
	t.Helper()
	checked, stored := drain.CheckPayload([]byte(payload)), store(t.Context(), db, payload)
	if (checked == nil) != (stored == nil) {
		t.Errorf("payload %.200q: CheckPayload says %v, Postgres says %v", payload, checked, stored)
	}
	if checked != nil && !errors.Is(checked, drain.ErrRefused) {
		t.Errorf("payload %.200q: %v is not ErrRefused", payload, checked)
	}
	if checked != nil && len(checked.Error()) > 1000 {
		t.Errorf("payload %.200q: the error has %d bytes", payload, len(checked.Error()))
	}
	return checked == nil
}

// store makes jsonb of a payload, as enqueue.sql does, and prints it. An error that is not about the payload ends the test.
func store(ctx context.Context, db *pgx.Conn, payload string) error {
	_, err := db.Exec(ctx, `select length(p::jsonb::text) from unnest($1::text[]) p`, pgx.QueryExecModeExec, []string{payload})
	var pg *pgconn.PgError
	if err != nil && !errors.As(err, &pg) {
		panic(err)
	}
	return err
}

var (
	pieces = []string{`a`, `é`, "\U0001F600", `\\`, `\"`, `\/`, `\n`, `\u0041`, `\u001f`, `\ud83d\ude00`, "\x7f", ` `, `\\u0000`, `\uffff`}
	broken = []string{`\u0000`, `\ud800`, `\udc00`, "\xff", "\xed\xa0\x80", "\x00", "\n", `\x`, `"`, `,`, `:`, `[`, `]`, `{`, `}`, `\`, `e`, `-`, `.`, `0`, ` `, `null`}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func text(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString(pick(r, pieces))
	}
	return `"` + b.String() + `"`
}

// value is a legal payload, but for the size of some numbers.
func value(r *rand.Rand, depth int) string {
	space := strings.Repeat(" ", r.IntN(2))
	switch k := r.IntN(8); {
	case k < 2 && depth > 0:
		var members []string
		for range r.IntN(4) {
			members = append(members, value(r, depth-1))
		}
		return `[` + space + strings.Join(members, `,`+space) + `]`
	case k < 4 && depth > 0:
		var members []string
		for range r.IntN(4) {
			members = append(members, text(r)+space+`:`+value(r, depth-1))
		}
		return `{` + strings.Join(members, space+`,`) + space + `}`
	case k < 6:
		return text(r)
	case k < 7:
		return number(r)
	}
	return pick(r, []string{`null`, `true`, `false`, `0`, `{}`, `[]`})
}

// number is one near the ends of numeric, now and then.
func number(r *rand.Rand) string {
	n := pick(r, []string{``, `-`}) + pick(r, []string{`0`, `1`, `12345`, `9007199254740993`})
	if r.IntN(2) == 0 {
		n += `.` + pick(r, []string{`0`, `10`, `000001`, `99999`})
	}
	if r.IntN(2) == 0 {
		around := []int{0, 7, 131071, -16383, 131066, -16378}[r.IntN(6)]
		n += fmt.Sprintf("%se%d", pick(r, []string{``, `0`}), around+r.IntN(13)-6)
	}
	return n
}

// damage puts something in, or takes something out, at a random place.
func damage(r *rand.Rand, payload string) string {
	at := r.IntN(len(payload) + 1)
	if r.IntN(2) == 0 {
		return payload[:at] + pick(r, broken) + payload[at:]
	}
	return payload[:at] + payload[min(len(payload), at+1+r.IntN(2)):]
}

func TestCheckPayloadNamesThePlace(t *testing.T) {
	for _, c := range []struct{ payload, want string }{
		{``, `payload: empty; the least is null`},
		{" \n", `payload: empty`},
		{`{"a":"x\u0000y"}`, `payload at "/a": the character \u0000 (NUL)`},
		{`{"a":["\u0000"]}`, `payload at "/a/0": the character \u0000`},
		{`{"k\u0000":1}`, `payload at "/k\x00": the character \u0000`},
		{`{"a/b~c":"\u0000"}`, `payload at "/a~1b~0c": `},
		{`{"a":"\ud800"}`, `payload at "/a": \ud800 is half of a surrogate pair, at byte 6`},
		{`{"a":"\udc00\ud800"}`, `payload at "/a": \udc00 is half of a surrogate pair, at byte 6`},
		{"{\"a\":\"x\xff\"}", `payload at "/a": 0xff is not UTF-8, at byte 7`},
		{`[1,2,nul]`, `payload at "/2": invalid character`},
		{`{"a":[1,2`, `payload at "/a": the JSON ends too early`},
		{`[1]x`, `payload: something follows the JSON value, from byte 3 on: "x"`},
		{`[1e131072]`, `payload at "/0": the number "1e131072" has more than 131072 digits before the point`},
		{`{"n":1e-16384}`, `payload at "/n": the number "1e-16384" has more than 16383 digits after the point`},
		{nested(`[`, ``, `]`, 10001), `: arrays and objects are more than 10000 deep`},
	} {
		if err := drain.CheckPayload([]byte(c.payload)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s:\n got %v\nwant %s", c.payload, err, c.want)
		}
	}
}

// Sizes that Postgres gives up at. Asking it about them takes minutes, so it is not asked here: it has been measured.
func TestCheckPayloadBoundsSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of megabytes")
	}
	for _, c := range []struct {
		what, payload, want string
	}{
		{"a string of 200 MB", `["` + strings.Repeat("x", 200<<20) + `"]`, ``},
		{"a string of 256 MB", `["` + strings.Repeat("x", 1<<28-16) + `"]`, `at "/0": up to here the payload takes more than 268435455 bytes`},
		{"2^24 elements and one", `{"a":[` + strings.Repeat(`1,`, 1<<24) + `1]}`, `at "/a": an array of more than 16777216 elements`},
		{"100 MB when printed", `[` + strings.Repeat(`1e131071,`, 800) + `1]`, ``},
		{"more than Postgres prints", `[` + strings.Repeat(`1e131071,`, 8300) + `1]`, `at "/2047": up to here the payload takes more than`},
	} {
		switch err := drain.CheckPayload([]byte(c.payload)); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
}

// A handler that decodes can read whatever passes, as far as depth is concerned.
func TestCheckPayloadIsNoDeeperThanEncodingJSON(t *testing.T) {
	for n := 9999; n <= 10001; n++ {
		payload := []byte(nested(`[`, ``, `]`, n))
		if checked := drain.CheckPayload(payload) == nil; checked != json.Valid(payload) {
			t.Errorf("%d levels: CheckPayload accepts: %v, encoding/json accepts: %v", n, checked, json.Valid(payload))
		}
	}
}
