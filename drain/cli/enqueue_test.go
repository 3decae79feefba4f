package cli

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/schema/schematest"
)

func TestMigrate(t *testing.T) {
	url := schematest.Empty(t)
	db := schematest.Connect(t, url)
	s := setup{env: map[string]string{"DATABASE_URL": url}}
	for range 2 {
		if got := s.ebb("migrate"); got.status != 0 || got.stdout != "schema ebb is at version 1\n" {
			t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
		}
	}
	s.env["EBB_SCHEMA"] = `we"ird $x`
	if got := s.ebb("migrate"); got.status != 0 {
		t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if got := s.ebb("enqueue", "mail", "{}"); got.status != 0 || got.stdout != "1\n" {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	do(t, db, `update ebb.jobs_version set version = 99, oldest = 99`)
	s.env["EBB_SCHEMA"] = ""
	if got := s.ebb("migrate"); got.status != 78 || !strings.Contains(got.stderr, "use a newer ebb") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}

	printed := setup{env: map[string]string{"EBB_SCHEMA": "other"}}.ebb("migrate", "--print")
	if printed.status != 0 {
		t.Fatalf("exit %d, %s", printed.status, printed.stderr)
	}
	do(t, db, printed.stdout)
	s.env["EBB_SCHEMA"] = "other"
	if got := s.ebb("status"); got.status != 0 {
		t.Errorf("exit %d, %s", got.status, got.stderr)
	}
}

// A schema that is not there is the same mistake for every command.
func TestNotMigrated(t *testing.T) {
	s := setup{env: map[string]string{"DATABASE_URL": schematest.Empty(t)}, stdin: "{}\n"}
	for _, args := range [][]string{{"status"}, {"enqueue", "mail", "{}"}, {"enqueue", "mail", "--lines"}} {
		if got := s.ebb(args...); got.status != 78 || got.stdout != "" || !strings.HasSuffix(got.stderr, "ebb: schema ebb is at version 0, this ebb needs 1; run: ebb migrate\n") {
			t.Errorf("%v: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
		}
	}
}

func TestEnqueue(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	s := setup{env: map[string]string{"DATABASE_URL": url}, stdin: `{"from":"stdin"}`}
	for _, test := range []struct {
		args []string
		says string
		errs string
		row  string // of the newest job
	}{
		{[]string{"mail", `{"id":9007199254740993}`}, "1\n", "", `mail {"id": 9007199254740993} 00:00:00 - 5`},
		{[]string{"mail", "-"}, "2\n", "", `mail {"from": "stdin"} 00:00:00 - 5`},
		{[]string{"mail"}, "3\n", "", `mail {"from": "stdin"} 00:00:00 - 5`},
		{[]string{"mail", "[]", "--in", "90m", "--max-attempts", "2"}, "4\n", "", "mail [] 01:30:00 - 2"},
		{[]string{"--at", "2031-01-31T09:00:00+01:00", "--", "--odd", "1"}, "5\n", "", "--odd 1 2031-01-31 08:00:00 - 5"},
		{[]string{"mail", "null", "--unique-key", "k"}, "6\n", "", "mail null 00:00:00 k 5"},
		{[]string{"mail", "7", "--unique-key", "k"}, "", "ebb: the unique key \"k\" is taken by a queued or running job of the queue mail: nothing is inserted\n", "mail null 00:00:00 k 5"},
		{[]string{"other", "7", "--unique-key", "k"}, "8\n", "", "other 7 00:00:00 k 5"},
	} {
		got := s.ebb(append([]string{"enqueue"}, test.args...)...)
		if got.status != 0 || got.stdout != test.says || got.stderr != test.errs {
			t.Errorf("%v: exit %d, %s%s", test.args, got.status, got.stdout, got.stderr)
		}
		row := text(t, db, `select concat_ws(' ', queue, payload,
			case when run_at > '2030-01-01' then to_char(run_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') else date_trunc('minute', run_at - created_at + interval '30 s')::text end,
			coalesce(unique_key, '-'), max_attempts) from ebb.jobs order by id desc limit 1`)
		if row != test.row {
			t.Errorf("%v: %s, want %s", test.args, row, test.row)
		}
	}
}

func TestEnqueueJSON(t *testing.T) {
	url := schematest.New(t)
	s := setup{env: map[string]string{"DATABASE_URL": url}, stdin: "1\n2\n"}
	var all strings.Builder
	for _, args := range [][]string{{"mail", "{}", "--unique-key", "k"}, {"mail", "{}", "--unique-key", "k"}, {"mail", "--lines"}} {
		got := s.ebb(append([]string{"enqueue", "--json"}, args...)...)
		if got.status != 0 {
			t.Errorf("%v: exit %d, %s", args, got.status, got.stderr)
		}
		fmt.Fprintf(&all, "$ ebb enqueue --json %s\n%s", strings.Join(args, " "), got.stdout)
	}
	golden(t, "enqueue.json", all.String())
}

// What only drain finds wrong is a mistake of the same kind.
func TestEnqueueRefusedByDrain(t *testing.T) {
	s := setup{env: map[string]string{"DATABASE_URL": schematest.New(t)}}
	if got := s.ebb("enqueue", "mail", "{}", "--unique-key", strings.Repeat("k", 4000)); got.status != 78 || got.stdout != "" {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

// What could not be stored is refused before the database is asked.
func TestEnqueueRefuses(t *testing.T) {
	s := setup{env: map[string]string{"DATABASE_URL": nowhere}}
	for _, args := range [][]string{
		{"mail", `{"a":"x\u0000y"}`}, {"mail", `{"a":"\ud800"}`}, {"mail", `{"a":"\udc00\ud800"}`}, {"mail", "{\"a\":\"\xff\"}"},
		{"mail", `{"a\u0000":1}`}, {"mail", "{"}, {"mail", ""}, {"mail", "-"}, {"mail", "{} {}"}, {"", "{}"}, {"mail", "{}", "x"},
		{"mail", "{}", "--in", "5"}, {"mail", "{}", "--in", "-5s"}, {"mail", "{}", "--at", "tomorrow"}, {"mail", "{}", "--at", "2031-01-31T09:00:00Z", "--in", "5s"},
		{"mail", "{}", "--max-attempts", "0"}, {"mail", "{}", "--max-attempts", "x"}, {"mail", "{}", "--max-attempts", "99999999999"},
		{"mail", "{}", "--lines"}, {"mail", "--lines", "--unique-key", "k"},
	} {
		if got := s.ebb(append([]string{"enqueue"}, args...)...); got.status != 78 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: ") {
			t.Errorf("%q: exit %d, %s%s", args, got.status, got.stdout, got.stderr)
		}
	}
}

func TestEnqueueLines(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	s := setup{env: map[string]string{"DATABASE_URL": url}}
	s.stdin = "{\"n\": 1}\r\n\n  \n2\n\"three\""
	if got := s.ebb("enqueue", "mail", "--lines", "--in", "1h"); got.status != 0 || got.stdout != "3 inserted\n" {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if got := text(t, db, `select string_agg(payload::text, ',' order by id) from ebb.jobs where run_at > now() + interval '50 min'`); got != `{"n": 1},2,"three"` {
		t.Error(got)
	}

	var many strings.Builder
	for n := range 2500 {
		fmt.Fprintf(&many, "{\"n\": %d}\n", n)
	}
	s.stdin = many.String()
	if got := s.ebb("enqueue", "many", "-", "--lines"); got.status != 0 || got.stdout != "2500 inserted\n" {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	s.stdin = many.String() + "\n{\"a\":\"\\u0000\"}\n"
	got := s.ebb("enqueue", "bad", "--lines")
	if got.status != 78 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ebb: line 2502: ") || !strings.HasSuffix(got.stderr, "; nothing is inserted\n") {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if n := text(t, db, `select count(*)::text from ebb.jobs where queue = 'bad'`); n != "0" {
		t.Errorf("%s of the lines before a bad one are inserted", n)
	}
	s.stdin = ""
	if got := s.ebb("enqueue", "mail", "--lines"); got.status != 0 || got.stdout != "0 inserted\n" {
		t.Errorf("no lines: exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
}

// What does not fit into memory goes through a file, which is gone afterwards.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	line := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	var s spool
	for range 20 {
		if err := s.add(line); err != nil {
			t.Fatal(err)
		}
	}
	if s.file == nil || s.memory.Len() > 0 {
		t.Error("20 MB are kept in memory")
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); runtime.GOOS != "windows" && (len(left) > 0 || err != nil) {
		t.Errorf("a kill now would leave %v, %v", left, err)
	}
	in, err := s.reader()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := eachLine(in, func(number int, got []byte) error {
		n++
		if string(got) != string(line) {
			t.Errorf("line %d is another", number)
		}
		return nil
	}); err != nil || n != 20 {
		t.Errorf("%d lines, %v", n, err)
	}
	s.close()
}
