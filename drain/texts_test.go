package drain

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// What the server adds to an error helps, and is never of a row.
func TestDetails(t *testing.T) {
	with := func(code, where string) *pgconn.PgError {
		return &pgconn.PgError{Severity: "ERROR", Code: code, Message: "no", Detail: "because\n of this.", Hint: "do that", Where: where}
	}
	for _, code := range []string{"0A000", "25006", "28000", "2BP01", "3D000", "42P10", "42501", "53200", "54000", "55000", "57P03", "58030"} {
		if got, want := brief(with(code, "")), "no (SQLSTATE "+code+"); DETAIL: because of this; HINT: do that"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		wrapped := fmt.Errorf("looking: %w", with(code, ""))
		if got, want := brief(wrapped), "looking: ERROR: no (SQLSTATE "+code+"); DETAIL: because of this; HINT: do that"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := brief(with(code, "PL/pgSQL function")); got != "no (SQLSTATE "+code+")" {
			t.Errorf("what a function says is shown: %s", got)
		}
	}
	for _, code := range []string{"22P02", "23505", "23514", "23502", "44000", "P0001", "38000", "39000", "27000", "XX000", "42703", "5", ""} {
		if got := brief(with(code, "")); strings.Contains(got, "because") || strings.Contains(got, "that") {
			t.Errorf("it may be of a row: %s", got)
		}
	}
	long := with("42000", "")
	long.Detail = strings.Repeat("ä", 10_000)
	if got := brief(long); len(got) > 600 || !strings.Contains(got, "DETAIL: ää") || !strings.HasSuffix(got, "ä; HINT: do that") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	for said, want := range map[string]string{
		"resolving: lookup db: no such host\nlookup db: no such host":  "resolving: lookup db: no such host",
		"a: refused\nb: refused\na: refused\n":                         "a: refused; b: refused",
		"a: dial: refused\nserver refused TLS connection\ndial: other": "a: dial: refused; dial: other",
	} {
		if got := brief(errors.New(said)); got != want {
			t.Errorf("%q: %s", said, got)
		}
	}
}

func TestExplained(t *testing.T) {
	denied := &pgconn.PgError{Severity: "ERROR", Code: "42501", Message: "permission denied"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{denied, "permission denied (SQLSTATE 42501); grant that to the role: the README lists what it needs"},
		{fmt.Errorf("look: %w", denied), "look: ERROR: permission denied (SQLSTATE 42501); grant that to the role: the README lists what it needs"},
		{fmt.Errorf("look: %w; do as the owner", denied), "look: ERROR: permission denied (SQLSTATE 42501); do as the owner"},
		{reworded{"said", denied}, "said"},
		{reworded{"said (SQLSTATE 42501)", denied}, "said (SQLSTATE 42501)"},
		{errors.New("two\nlines"), "two\nlines"},
	} {
		got := Explained(c.err)
		if got.Error() != c.want || !errors.Is(got, c.err) && got != c.err {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	}
	if Explained(nil) != nil {
		t.Error("nothing is explained")
	}
}

// A bound is not called a count.
func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 due jobs", 1: "1 due job", 9999: "9999 due jobs", 10000: "at least 10000 due jobs", 10007: "at least 10007 due jobs"} {
		if got := counted(n, "due job"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
