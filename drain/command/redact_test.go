//go:build unix

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

const aSecret = "Zqxvjk-Wzqkuq"

func withoutIt(text string) string { return strings.ReplaceAll(text, aSecret, "[redacted]") }

// trace is a piece of the secret that is left in a text, or nothing.
func trace(text string) string {
	for i := range len(aSecret) - 2 {
		if strings.Contains(text, aSecret[i:i+3]) {
			return aSecret[i : i+3]
		}
	}
	return ""
}

// A secret goes whole, wherever a text is cut and in whatever pieces it comes.
func TestNoPieceOfASecretIsLeft(t *testing.T) {
	around := func(bound int) (all []int) {
		for at := max(0, bound-2*len(aSecret)); at < bound+2*len(aSecret); at++ {
			all = append(all, at)
		}
		return all
	}
	for _, bound := range []int{0, tailSize, maxLine, tailSize + secretRoom, maxLine + secretRoom} {
		for _, at := range around(bound) {
			for _, after := range []int{0, 5, tailSize - 5, tailSize, maxLine, tailSize + secretRoom - 5, 3 * maxLine} {
				text := strings.Repeat(".", at) + aSecret + strings.Repeat(".", after)
				for _, size := range []int{len(text), 4093} {
					l := lines{redact: withoutIt, log: func(line string) {
						if left := trace(line); left != "" {
							t.Fatalf("%d and %d around it: %q is in the log", at, after, left)
						}
					}}
					var kept tail
					for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
						_, _ = l.Write([]byte(rest[:min(size, len(rest))]))
						_, _ = kept.Write([]byte(rest[:min(size, len(rest))]))
					}
					l.close()
					if left := trace(kept.text(withoutIt)); left != "" {
						t.Fatalf("%d and %d around it: %q is in the tail", at, after, left)
					}
				}
			}
		}
	}
}

// Where long secrets give way to short marks, what was beyond the cut comes into view: never a piece of the next one.
func TestNothingButSecrets(t *testing.T) {
	long := strings.Repeat(aSecret, 10)
	redact := func(text string) string { return strings.ReplaceAll(text, long, "[redacted]") }
	for n := range len(long) {
		text := strings.Repeat(".", n) + strings.Repeat(long, 3*maxLine/len(long)) + strings.Repeat(".", n%7)
		l := lines{redact: redact, log: func(line string) {
			if left := trace(line); left != "" {
				t.Errorf("%d: %q is in the log", n, left)
			}
		}}
		_, _ = l.Write([]byte(text))
		l.close()
		var kept tail
		_, _ = kept.Write([]byte(text))
		if left := trace(kept.text(redact)); left != "" {
			t.Errorf("%d: %q is in the tail", n, left)
		}
	}
}

// What a handler prints of a secret reaches neither log nor error, and what an earlier one printed no later one.
func TestRedact(t *testing.T) {
	log := newPrinted()
	c := shell(`echo "out $SECRET"; printf "err %s" "$SECRET" >&2; echo "last $EBB_JOB_LAST_ERROR" >&2; exit 3`)
	c.Env = append(c.Env, "SECRET="+aSecret)
	c.Redact, c.Log = withoutIt, log.logger()
	err := c.Handle(t.Context(), drain.Job{LastError: "from before: " + aSecret})
	if want := "exit status 3: err [redacted]last from before: [redacted]"; text(err) != want {
		t.Errorf("%q, want %q", text(err), want)
	}
	if all := strings.Join(log.all(), "\n"); trace(all) != "" || strings.Count(all, "[redacted]") != 3 {
		t.Errorf("log: %s", all)
	}
}

// What a command is given of an older error, in whatever place that was cut.
func TestLastErrorIsRedacted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for before := range 2 * len(aSecret) {
		c := shell(`printf %s "$EBB_JOB_LAST_ERROR" >"$OUT"`)
		c.Env, c.Redact = append(c.Env, "OUT="+out), withoutIt
		at := maxLastError/2 - 2*len(aSecret) + before
		long := strings.Repeat(".", at) + aSecret + strings.Repeat(".", 3*maxLastError) + aSecret + strings.Repeat(".", at)
		for _, last := range []string{"from before: " + aSecret, long} {
			if err := c.Handle(t.Context(), drain.Job{LastError: last}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out); err != nil || len(got) == 0 || trace(string(got)) != "" {
				t.Fatalf("%d: %q of it is given, %v", before, trace(string(got)), err)
			}
		}
	}
}

// No last error, whatever wrote it, keeps a command from being started, or grows from attempt to attempt.
func TestLastErrorIsBounded(t *testing.T) {
	for _, size := range []int{maxLastError - 1, maxLastError, maxLastError + 1, 128 << 10, 4 << 20} {
		c := shell(`printf %s "$EBB_JOB_LAST_ERROR" | wc -c >&2; printf %s "$EBB_JOB_LAST_ERROR" | tail -c 3 >&2; exit 1`)
		err := c.Handle(t.Context(), drain.Job{LastError: strings.Repeat("é", size/2) + strings.Repeat("x", size%2) + "end"})
		var got int
		if _, scanErr := fmt.Sscanf(text(err), "exit status 1: %d\nend", &got); scanErr != nil || got > maxLastError || got < min(size, maxLastError)-4 {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if most := strings.Repeat("x", maxLastError); bounded(most) != most || !strings.Contains(bounded(most+"x"), cutMark) {
		t.Error("what fits is cut, or a cut is not marked")
	}
	job := drain.Job{}
	for range 20 {
		c := shell(`env >&2; exit 1`)
		job.LastError = text(c.Handle(t.Context(), job))
	}
	if len(job.LastError) > tailSize+100 {
		t.Errorf("grew to %d bytes", len(job.LastError))
	}
}
