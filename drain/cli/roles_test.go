package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// everyEnding enqueues as the producer, has jobs end in every way as the drainer, and looks. The session is the owner's.
func everyEnding(t *testing.T, db *pgx.Conn, producer, drainer string) {
	t.Helper()
	var late atomic.Int32
	p := setup{env: map[string]string{"DATABASE_URL": producer}}
	d := setup{env: map[string]string{"DATABASE_URL": drainer, "EBB_LINGER": "5s", "EBB_GRACE": "1s", "EBB_LEASE": "2s", "EBB_JOB_TIMEOUT": "10s"}}
	d.handlers = []drain.Queue{{Name: "q", Handler: func(_ context.Context, job drain.Job) error {
		switch string(job.Payload) {
		case `"fail"`:
			return errors.New("no")
		case `"long"`:
			time.Sleep(1500 * time.Millisecond) // past half of the lease
		case `"late"`:
			late.Add(1)
		}
		return nil
	}}}
	must := func(i invocation) invocation {
		t.Helper()
		if i.status != 0 || strings.Contains(i.stderr, "planted") || strings.Contains(i.stderr, "permission") {
			t.Errorf("exit %d\n%s%s", i.status, i.stdout, i.stderr)
		}
		return i
	}
	for _, args := range [][]string{{`"done"`}, {`"fail"`}, {`"fail"`, "--max-attempts", "1"}, {`"key"`, "--unique-key", "k"},
		{`"key"`, "--unique-key", "k"}, {`"long"`}, {`"late"`, "--in", "3s"}} {
		must(p.ebb(append([]string{"enqueue", "q"}, args...)...))
	}
	do(t, db, `insert into ebb.jobs (queue, payload, status, attempts, lost) values ('other', '1', 'queued', 0, 0), ('q', '"expired"', 'running', 1, 0),
		('q', '"alone"', 'queued', 2, 2), ('q', '"spent"', 'queued', 5, 0)`)
	do(t, db, `insert into ebb.jobs (queue, payload) values ('q', pg_catalog.to_jsonb(pg_catalog.repeat('x', 17000000)))`) // is read by itself
	// One row makes the exchange fail, so that it is done row by row.
	do(t, db, `insert into ebb.jobs (queue, payload) values ('q', '"trouble"')`)
	do(t, db, `create function ebb.trouble() returns trigger language plpgsql as $$begin raise exception 'trouble'; end$$;
		create trigger trouble before update on ebb.jobs for each row when (old.payload = '"trouble"') execute function ebb.trouble()`)
	r := must(d.ebb("run")).summary(t)
	if r.Done != 7 || r.Retried != 1 || r.Failed != 1 || r.Reaped != 2 || r.DueLeft != 1 || r.Unhandled != 1 || late.Load() != 1 {
		t.Errorf("%+v, the late job ran %d times", r, late.Load())
	}
	must(d.ebb("status"))
	must(d.ebb("awake"))
}

// The README's grants are enough for all that the roles do, and allow them nothing else.
func TestTheLeastRights(t *testing.T) {
	producer, drainer := roleName(t), roleName(t)
	database := schematest.New(t)
	db := schematest.Connect(t, database)
	_, grants, _ := strings.Cut(readREADME(t), "GRANT USAGE ON SCHEMA ebb TO producer, drainer;")
	grants, _, ok := strings.Cut("GRANT USAGE ON SCHEMA ebb TO producer, drainer;"+grants, "```")
	if !ok {
		t.Fatal("the README has no grants")
	}
	do(t, db, `alter default privileges revoke execute on functions from public; revoke execute on all functions in schema ebb from public`)
	do(t, db, `create role `+producer+` login password 'p'; create role `+drainer+` login password 'd'`)
	do(t, db, strings.NewReplacer("producer", producer, "drainer", drainer).Replace(grants))
	everyEnding(t, db, asRole(t, database, producer, "p"), asRole(t, database, drainer, "d"))

	do(t, db, `set role `+producer)
	do(t, db, `insert into ebb.jobs (queue, payload) values ('email', '{"to": 1}'); select ebb.enqueue('email', '{}', now(), 'k', 3)`)
	for role, statements := range map[string][]string{
		producer: {`select payload from ebb.jobs`, `update ebb.jobs set status = 'done'`, `delete from ebb.jobs`, `insert into ebb.jobs (payload, status) values ('1', 'done')`,
			`insert into ebb.jobs (payload, last_error) values ('1', '')`, `select from ebb.jobs_runs`, `create table ebb.x ()`},
		drainer: {`insert into ebb.jobs (payload) values ('1')`, `delete from ebb.jobs`, `update ebb.jobs set payload = '1'`, `update ebb.jobs set queue = '1'`,
			`update ebb.jobs set max_attempts = 1`, `update ebb.jobs set created_at = now()`, `update ebb.jobs_runs set error = ''`, `update ebb.jobs_version set version = 9`, `create table ebb.x ()`},
	} {
		do(t, db, `set role `+role)
		for _, sql := range statements {
			if _, err := db.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
}

// asRole is the URL of another role.
func asRole(t *testing.T, text, role, password string) string {
	t.Helper()
	u, err := url.Parse(schematest.Direct(text))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, password)
	return u.String()
}
