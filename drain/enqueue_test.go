//go:build unix

package drain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func (r *rig) enqueue(db drain.DB, job drain.NewJob) (id int64, inserted bool) {
	r.Helper()
	id, inserted, err := drain.Enqueue(context.Background(), db, "", job)
	if err != nil {
		r.Fatalf("%+v: %v", job, err)
	}
	return id, inserted
}

func (r *rig) enqueueMany(db drain.DB, jobs ...drain.NewJob) int64 {
	r.Helper()
	inserted, err := drain.EnqueueMany(context.Background(), db, "", jobs)
	if err != nil {
		r.Fatal(err)
	}
	return inserted
}

func payload(text string) drain.NewJob { return drain.NewJob{Payload: json.RawMessage(text)} }

func keyed(queue, key string) drain.NewJob {
	return drain.NewJob{Queue: queue, UniqueKey: key, Payload: json.RawMessage(`{}`)}
}

func TestEnqueueThroughConnectionAndTransaction(t *testing.T) {
	r := newRig(t)
	tx, err := r.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	savepoint, err := tx.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, db := range []drain.DB{savepoint, tx, r.db} {
		if outer, ok := map[int]pgx.Tx{1: savepoint, 2: tx}[i]; ok {
			if err := outer.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		id, inserted := r.enqueue(db, payload(`{"to": 1}`))
		if !inserted || id != int64(2*i+1) {
			t.Errorf("%T: id %d, inserted %v", db, id, inserted)
		}
		if n := r.enqueueMany(db, payload(`2`)); n != 1 {
			t.Errorf("%T: %d inserted", db, n)
		}
	}
	r.want(`select id, queue, payload, status, attempts, max_attempts, unique_key, run_at <= now() and run_at = created_at as due from ebb.jobs order by id`,
		`(1,default,"{""to"": 1}",queued,0,5,,t)`, `(2,default,2,queued,0,5,,t)`, `(3,default,"{""to"": 1}",queued,0,5,,t)`,
		`(4,default,2,queued,0,5,,t)`, `(5,default,"{""to"": 1}",queued,0,5,,t)`, `(6,default,2,queued,0,5,,t)`)
	if report := r.run(r.config(nil)); report.Done != 6 {
		t.Errorf("report %+v", report)
	}
	if n := r.enqueueMany(r.db); n != 0 {
		t.Errorf("of no jobs %d were inserted", n)
	}
}

// What is stored is the same in every query mode of pgx, which sends some of it as text and some of it in binary.
func TestEnqueueInEveryMode(t *testing.T) {
	r := newRig(t)
	config, err := pgx.ParseConfig(r.url)
	if err != nil {
		t.Fatal(err)
	}
	jobs := []drain.NewJob{
		{Payload: json.RawMessage(`{"quotes": "'\"\\ $1 @x {schema} \\u0000", "null": null}`), Queue: `NULL`, UniqueKey: `{"a,b"}'\`},
		{Payload: json.RawMessage(`[1, -2.50, "é😀\u2028\u001f"]`), Queue: `q"u'e\ue, ünï`, UniqueKey: `NULL`, MaxAttempts: math.MaxInt32},
		{Payload: json.RawMessage(`""`), Queue: ` `, RunAt: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), UniqueKey: ` `},
		{Payload: json.RawMessage(`{}`), Queue: `a`, RunAt: time.Date(2031, 2, 3, 4, 5, 6, 789, time.FixedZone("odd", 3723)), MaxAttempts: 1},
		{Payload: json.RawMessage(`{}`), Queue: `b`, RunAt: time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)},
	}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			config.DefaultQueryExecMode = mode
			db, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close(context.Background())
			r.exec(`delete from ebb.jobs`)
			if n := r.enqueueMany(db, jobs...); n != int64(len(jobs)) {
				t.Errorf("%d inserted", n)
			}
			if n := r.enqueueMany(db, jobs...); n != 2 {
				t.Errorf("%d inserted again, want the two without a key", n)
			}
			r.exec(`delete from ebb.jobs`)
			for _, j := range jobs {
				r.enqueue(db, j)
			}
			if _, inserted := r.enqueue(db, jobs[0]); inserted {
				t.Error("a taken key was given again")
			}
			got := r.rows(`select queue, payload, case when run_at = created_at then 'now' else (run_at at time zone 'UTC')::text end, unique_key, max_attempts
				from ebb.jobs order by id`)
			slices.Sort(got)
			if !slices.Equal(got, []string{
				`(" ","""""","9999-12-31 23:59:59.999999"," ",5)`,
				`("q""u'e\\ue, ünï","[1, -2.50, ""é😀` + "\u2028" + `\\u001f""]",now,NULL,2147483647)`,
				`(NULL,"{""null"": null, ""quotes"": ""'\\""\\\\ $1 @x {schema} \\\\u0000""}",now,"{""a,b""}'\\",5)`,
				`(a,{},"2031-02-03 03:03:03",,1)`,
				`(b,{},"0001-01-01 00:00:00.000001",,5)`,
			}) {
				t.Errorf("stored:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// Every digit that is given is stored.
func TestEnqueueKeepsNumbers(t *testing.T) {
	r := newRig(t)
	given := []string{
		`{"id":9007199254740993}`, `{"id":1234567890123456789}`, `{"n":-9223372036854775808}`, `{"n":18446744073709551616}`,
		`{"p":1.10}`, `{"e":1e400}`, `{"s":"<a>&\u2028"}`,
	}
	stored := []string{
		`{"id": 9007199254740993}`, `{"id": 1234567890123456789}`, `{"n": -9223372036854775808}`, `{"n": 18446744073709551616}`,
		`{"p": 1.10}`, `{"e": 1` + strings.Repeat("0", 400) + `}`, "{\"s\": \"<a>&\u2028\"}",
	}
	for _, text := range given {
		r.enqueue(r.db, payload(text))
	}
	r.run(r.config(nil))
	for _, job := range r.seen {
		if i := job.ID - 1; string(job.Payload) != stored[i] {
			t.Errorf("%s became %s", given[i], job.Payload)
		}
	}
	if len(r.seen) != len(given) {
		t.Errorf("%d of %d jobs", len(r.seen), len(given))
	}
}

// What jsonb cannot store leaves no row, what only looks like it reaches the handler unchanged.
func TestEnqueueRefusesWhatCannotBeStored(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ payload, want string }{
		{`{"a":"x\u0000y"}`, `at "/a": the character \u0000`},
		{`{"a":"\ud800"}`, `at "/a": \ud800`},
		{`{"a":"\udc00\ud800"}`, `at "/a": \udc00`},
		{`{"k\u0000":1}`, `at "/k\x00": the character \u0000`},
		{"{\"a\":\"\xff\"}", `at "/a": 0xff`},
	} {
		_, _, err := drain.Enqueue(t.Context(), unasked{t}, "", payload(c.payload))
		if !errors.Is(err, drain.ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.payload, err)
		}
		_, err = drain.EnqueueMany(t.Context(), unasked{t}, "", []drain.NewJob{payload(`1`), payload(c.payload)})
		if !errors.Is(err, drain.ErrRefused) || !strings.Contains(err.Error(), "jobs[1]: payload "+c.want) {
			t.Errorf("%s: %v", c.payload, err)
		}
	}
	for text, want := range map[string]string{`{"a":"\\u0000"}`: `{"a": "\\u0000"}`, `{"a":"\ud83d\ude00"}`: `{"a": "😀"}`} {
		r.enqueue(r.db, payload(text))
		r.run(r.config(nil))
		if got := string(r.seen[len(r.seen)-1].Payload); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
	r.want(`select count(*) from ebb.jobs`, "(2)")
}

// unasked is a database that nobody may ask.
type unasked struct{ *testing.T }

func (u unasked) Begin(context.Context) (pgx.Tx, error) {
	u.Error("the database was asked")
	return nil, errors.New("asked")
}

func (u unasked) QueryRow(context.Context, string, ...any) pgx.Row {
	u.Fatal("the database was asked")
	return nil
}

func TestEnqueueNamesTheField(t *testing.T) {
	good := json.RawMessage(`{}`)
	for _, c := range []struct {
		schema string
		job    drain.NewJob
		want   string
	}{
		{"", drain.NewJob{}, `payload: empty`},
		{"", drain.NewJob{Payload: good, Queue: "a\x00b"}, `queue: "a\x00b" has a NUL at offset 1`},
		{"", drain.NewJob{Payload: good, Queue: "a\xff"}, `queue: "a\xff" is not UTF-8: byte 0xff at offset 1`},
		{"", drain.NewJob{Payload: good, Queue: strings.Repeat("q", 513)}, `queue: 513 bytes are more than 512`},
		{"", drain.NewJob{Payload: good, UniqueKey: "\x00"}, `unique key: "\x00" has a NUL at offset 0`},
		{"", drain.NewJob{Payload: good, UniqueKey: "\xed\xa0\x80"}, `unique key: "\xed\xa0\x80" is not UTF-8: byte 0xed at offset 0`},
		{"", drain.NewJob{Payload: good, UniqueKey: strings.Repeat("k", 2049)}, `unique key: 2049 bytes`},
		{"", drain.NewJob{Payload: good, MaxAttempts: -1}, `max attempts: -1`},
		{"", drain.NewJob{Payload: good, MaxAttempts: math.MaxInt32 + 1}, `max attempts: 2147483648`},
		{"", drain.NewJob{Payload: good, RunAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, `run at: the year 10000`},
		{"", drain.NewJob{Payload: good, RunAt: time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)}, `run at: the year 0`},
		{"", drain.NewJob{Payload: good, RunAt: time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC)}, `run at: the year 300000`},
		{"", drain.NewJob{Payload: good, RunAt: time.Unix(math.MaxInt64/2, 0)}, `run at: the year `},
		{"", drain.NewJob{Payload: good, RunAt: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -3600*2))}, `run at: the year 10000`},
		{"a\x00b", drain.NewJob{Payload: good}, `schema: "a\x00b" has a NUL at offset 1`},
		{strings.Repeat("s", 64), drain.NewJob{Payload: good}, `schema: 64 bytes are more than 63`},
	} {
		_, _, err := drain.Enqueue(t.Context(), unasked{t}, c.schema, c.job)
		if !errors.Is(err, drain.ErrRefused) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		_, err = drain.EnqueueMany(t.Context(), unasked{t}, c.schema, []drain.NewJob{payload(`1`), c.job, c.job})
		for _, where := range []string{"jobs[1]: ", "jobs[2]: "} {
			if c.schema != "" {
				where = ""
			}
			if !errors.Is(err, drain.ErrRefused) || !strings.Contains(err.Error(), where+c.want) {
				t.Errorf("got %v, want %s", err, where+c.want)
			}
		}
	}

	_, err := drain.EnqueueMany(t.Context(), unasked{t}, "", make([]drain.NewJob, 100_000))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 || lines[10] != "jobs[10] and maybe later ones have mistakes too" {
		t.Errorf("100,000 mistakes make %d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// The longest queue and key that are let through fit into the index, whatever they consist of.
func TestEnqueueLongestNames(t *testing.T) {
	r := newRig(t)
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + random.IntN(90)) // nothing that compression could make shorter
		}
		return string(b)
	}
	job := keyed(letters(512), letters(2048))
	if _, inserted := r.enqueue(r.db, job); !inserted {
		t.Error("not inserted")
	}
	if _, inserted := r.enqueue(r.db, job); inserted {
		t.Error("inserted again")
	}
}

// A transaction that is rolled back enqueues nothing.
func TestEnqueueEndsWithItsTransaction(t *testing.T) {
	r := newRig(t)
	for _, many := range []bool{false, true} {
		tx, err := r.db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if many {
			r.enqueueMany(tx, keyed("q", "k"), keyed("q", "l"))
		} else {
			r.enqueue(tx, keyed("q", "k"))
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.want(`select id from ebb.jobs`)
	}
}

func TestEnqueueKeys(t *testing.T) {
	r := newRig(t)
	inserted := func(want bool, job drain.NewJob) {
		t.Helper()
		if id, got := r.enqueue(r.db, job); got != want || (id != 0) != want {
			t.Errorf("%s in %q: id %d, inserted %v, want %v", job.UniqueKey, job.Queue, id, got, want)
		}
	}
	inserted(true, keyed("", "k"))
	inserted(false, keyed("default", "k"))
	inserted(true, keyed("other", "k"))
	for _, status := range []string{"running", "queued"} {
		r.exec(`update ebb.jobs set status = $1`, status)
		inserted(false, keyed("", "k"))
	}
	for _, status := range []string{"done", "failed"} {
		r.exec(`update ebb.jobs set status = $1`, status)
		inserted(true, keyed("", "k"))
	}
	inserted(true, keyed("", ""))
	inserted(true, keyed("", ""))

	// In one set the first one counts, and what has no key keeps its order.
	r.exec(`delete from ebb.jobs`)
	set := []drain.NewJob{payload(`"a"`), payload(`"b"`), payload(`"c"`), keyed("", "z"), keyed("", "y"), keyed("", "z"), keyed("other", "z")}
	for i := range 3 {
		set[i].Queue = "plain"
	}
	set[3].Payload, set[5].Payload = json.RawMessage(`"first"`), json.RawMessage(`"second"`)
	given := slices.Clone(set)
	if n := r.enqueueMany(r.db, set...); n != 6 {
		t.Errorf("%d inserted, want 6", n)
	}
	r.want(`select queue, unique_key, payload from ebb.jobs order by id`,
		`(default,y,{})`, `(default,z,"""first""")`, `(other,z,{})`, `(plain,,"""a""")`, `(plain,,"""b""")`, `(plain,,"""c""")`)
	for i := range set {
		if set[i].UniqueKey != given[i].UniqueKey || set[i].Queue != given[i].Queue || set[i].MaxAttempts != 0 {
			t.Errorf("the caller's set was changed: %+v", set[i])
		}
	}
	if n := r.enqueueMany(r.db, keyed("", "y"), keyed("", "x")); n != 1 {
		t.Errorf("%d inserted, want 1", n)
	}
}

// A key that is inserted and not committed is waited for: it may yet come to nothing.
func TestEnqueueWaitsForAnUncommittedKey(t *testing.T) {
	r := newRig(t)
	other := schematest.Connect(t, r.url)
	for _, end := range []string{"rollback", "commit"} {
		tx, err := r.db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.enqueue(tx, keyed("", "k"))
		answer := make(chan bool, 1)
		go func() {
			_, inserted, err := drain.Enqueue(context.Background(), other, "", keyed("", "k"))
			answer <- inserted && err == nil
		}()
		r.wait(r.db, `select count(*) > 0 from pg_locks where not granted`)
		if end == "commit" {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if inserted := <-answer; inserted != (end == "rollback") {
			t.Errorf("after the %s: inserted %v", end, inserted)
		}
		r.want(`select count(*) from ebb.jobs`, "(1)")
		r.exec(`delete from ebb.jobs`)
	}
}

// Sets with keys in common, in any order, wait for each other in one direction only.
func TestEnqueueManyDoesNotDeadlock(t *testing.T) {
	r := newRig(t)
	results := make(chan error, 4)
	for range cap(results) {
		db := schematest.Connect(t, r.url)
		go func() {
			for range 30 {
				var jobs []drain.NewJob
				for _, n := range rand.Perm(300) {
					jobs = append(jobs, keyed(fmt.Sprint("q", n%3), fmt.Sprint("k", n)))
				}
				if _, err := drain.EnqueueMany(context.Background(), db, "", jobs); err != nil {
					results <- err
					return
				}
				if _, err := db.Exec(context.Background(), `update ebb.jobs set status = 'done' where id in
						(select id from ebb.jobs where status = 'queued' order by id for update skip locked)`); err != nil {
					results <- err
					return
				}
			}
			results <- nil
		}()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	r.want(`select queue, unique_key from ebb.jobs where status = 'queued' group by 1, 2 having count(*) > 1`)
}

// The caller's transaction is as it was, and nothing is left prepared where the mode prepares nothing.
func TestEnqueueChangesNoSetting(t *testing.T) {
	r := newRig(t)
	config, err := pgx.ParseConfig(r.url)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `set local search_path = pg_temp; set local lock_timeout = '17s'; set local datestyle = 'German'; set local timezone = 'Asia/Tokyo'`); err != nil {
		t.Fatal(err)
	}
	settings := func() string {
		var all string
		err := tx.QueryRow(t.Context(), `select string_agg(name || '=' || setting, ' ' order by name) from pg_settings`).Scan(&all)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := settings()
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	r.enqueue(tx, drain.NewJob{Payload: json.RawMessage(`{}`), RunAt: at})
	r.enqueueMany(tx, drain.NewJob{Payload: json.RawMessage(`{}`), RunAt: at}, keyed("", "k"))
	if after := settings(); after != before {
		t.Errorf("settings before:\n%s\nafter:\n%s", before, after)
	}
	var prepared int
	var right bool
	err = tx.QueryRow(t.Context(), `select (select count(*) from pg_prepared_statements), (select count(*) = 2 from ebb.jobs where run_at = $1)`, at).
		Scan(&prepared, &right)
	if err != nil || prepared != 0 || !right {
		t.Errorf("prepared %d, run_at right %v: %v", prepared, right, err)
	}
}

// large is a set that takes more than one statement.
func large() []drain.NewJob {
	jobs := make([]drain.NewJob, 34)
	for i := range jobs {
		jobs[i] = keyed("", fmt.Sprintf("%02d", i))
		jobs[i].Payload = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	}
	return jobs
}

// A set that takes several statements is still inserted as a whole, or not at all.
func TestEnqueueManyIsAllOrNothing(t *testing.T) {
	r := newRig(t)
	r.exec(`create function no() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
	r.exec(`create trigger no before insert on ebb.jobs for each row when (new.unique_key = '33') execute function no()`)
	alone := schematest.Connect(t, r.url)
	tx, err := r.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	r.enqueue(tx, payload(`"before"`))
	for _, db := range []drain.DB{alone, tx} {
		n, err := drain.EnqueueMany(t.Context(), db, "", large())
		if n != 0 || err == nil {
			t.Errorf("%T: %d inserted, %v", db, n, err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil { // several statements were a savepoint
		t.Fatal(err)
	}
	r.want(`select payload from ebb.jobs`, `("""before""")`)

	r.exec(`drop trigger no on ebb.jobs`)
	if n := r.enqueueMany(alone, large()...); n != 34 {
		t.Errorf("%d inserted", n)
	}
}

func TestEnqueueManyManyJobs(t *testing.T) {
	r := newRig(t)
	jobs := make([]drain.NewJob, 100_000)
	for i := range jobs {
		jobs[i] = payload(fmt.Sprintf(`{"n": %d}`, i))
		if i%2 == 1 {
			jobs[i].UniqueKey = fmt.Sprint(i / 4)
		}
	}
	if n := r.enqueueMany(r.db, jobs...); n != 75_000 {
		t.Errorf("%d inserted, want 75000", n)
	}
	r.want(`select count(*), count(unique_key) from ebb.jobs`, "(75000,25000)")
	r.want(`select count(*) from (select payload->'n' > lag(payload->'n') over (order by id) as sorted from ebb.jobs where unique_key is null) s where not sorted`, "(0)")
}

func TestEnqueueInAnotherSchema(t *testing.T) {
	url := schematest.Empty(t)
	r := &rig{T: t, url: url, db: schematest.Connect(t, url)}
	const name = `o"dd {schema} Näme; --`
	for _, where := range []string{name, ""} {
		_, _, err := drain.Enqueue(t.Context(), r.db, where, payload(`1`))
		var pg *pgconn.PgError
		if !errors.Is(err, drain.ErrRefused) || !errors.As(err, &pg) || !strings.HasSuffix(err.Error(), " has no jobs table; run: ebb migrate") {
			t.Errorf("without tables: %v", err)
		}
	}
	if err := schema.Migrate(t.Context(), r.db, name, nil); err != nil {
		t.Fatal(err)
	}
	_, inserted, err := drain.Enqueue(t.Context(), r.db, name, payload(`1`))
	if err != nil || !inserted {
		t.Errorf("inserted %v, %v", inserted, err)
	}
	if n, err := drain.EnqueueMany(t.Context(), r.db, name, []drain.NewJob{keyed("", "k"), keyed("", "k")}); n != 1 || err != nil {
		t.Errorf("%d inserted, %v", n, err)
	}
	r.want(`select count(*) from `+pgx.Identifier{name, "jobs"}.Sanitize(), "(2)")
}

// Behind a pooler in transaction mode, in the modes of pgx that are meant for one: several sessions, inside and outside
// of transactions.
func TestEnqueueThroughAPooler(t *testing.T) {
	r := newRig(t)
	pooled := pgbouncer(t, r.url)
	for _, mode := range []string{"exec", "simple_protocol"} {
		var sessions []*pgx.Conn
		for range 5 { // more than the pooler has connections
			sessions = append(sessions, schematest.Connect(t, pooled+"&default_query_exec_mode="+mode))
		}
		for i := range 20 {
			db := sessions[i%len(sessions)]
			tx, err := db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.enqueue(tx, keyed(mode, fmt.Sprint(i)))
			r.enqueueMany(tx, payload(`{"many": "'\"\\ $1"}`), keyed(mode, fmt.Sprint(i)))
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, inserted := r.enqueue(db, keyed(mode, fmt.Sprint(i))); inserted {
				t.Errorf("%s: key %d was given again", mode, i)
			}
		}
		r.exec(`update ebb.jobs set status = 'done' where unique_key is not null`)
	}
	r.want(`select queue, count(*) from ebb.jobs group by 1 order by 1`, "(default,40)", "(exec,20)", "(simple_protocol,20)")
}

// A producer needs to insert into the table and to read what tells it that a key is taken, nothing else.
func TestEnqueueWithAProducersGrants(t *testing.T) {
	r := newRig(t)
	name := roleOf(t, r.role())
	r.exec(`alter role ` + name + ` nosuperuser`)
	r.exec(`grant usage on schema ebb to ` + name + `; grant insert, select (id, queue, unique_key, status) on ebb.jobs to ` + name)
	r.exec(`set role ` + name)
	r.enqueue(r.db, keyed("", "k"))
	if n := r.enqueueMany(r.db, payload(`1`), keyed("", "k")); n != 1 {
		t.Errorf("%d inserted", n)
	}
	r.exec(`reset role`)
	r.exec(`drop owned by ` + name) // so that the role can be dropped
}
