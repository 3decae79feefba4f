package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A role or a server that ebb cannot work with: the run fails before any handler is called, with one line.
func TestRunOnWhatItCannotWorkWith(t *testing.T) {
	url := schematest.Direct(schematest.New(t)) // the user's own startup parameters
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) values ('{}')`)
	for parameters, want := range map[string]struct {
		status int
		says   string
	}{
		"default_transaction_read_only=on":                        {1, "the session is read-only (default_transaction_read_only)"},
		"default_transaction_isolation=serializable":              {78, "isolation level is serializable; set the role's"},
		"options=-c%20client_encoding%3DLATIN1":                   {78, "client_encoding is LATIN1; set the role's to UTF8"},
		"datestyle=German":                                        {78, "DateStyle is German, DMY; set the role's to ISO"},
		"default_transaction_isolation=repeatable%20read&jit=off": {78, "isolation level is repeatable read"},
	} {
		called := false
		handler := drain.Queue{Name: "default", Handler: func(context.Context, drain.Job) error { called = true; return nil }}
		got := setup{env: map[string]string{"DATABASE_URL": url + "&" + parameters}, handlers: []drain.Queue{handler}}.ebb("run")
		r := got.summary(t)
		if got.status != want.status || r.Stopped != drain.StoppedError || !strings.Contains(r.Error, want.says) || strings.Count(got.stderr, want.says) != 1 || called {
			t.Errorf("%s: exit %d, want %d: %s%s", parameters, got.status, want.status, got.stdout, got.stderr)
		}
	}
	if left := text(t, db, `select status || attempts from ebb.jobs`); left != "queued0" {
		t.Errorf("the job is %s", left)
	}
}

// A schema that is newer all at once is no mistake of the settings where much was claimed by then: exit 1, not 78.
func TestSchemaMigratedUnderARun(t *testing.T) {
	url := schematest.Direct(schematest.New(t)) // its sessions are ended
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 3)`)
	handler := drain.Queue{Name: "default", Handler: func(_ context.Context, job drain.Job) error {
		do(t, db, `update ebb.jobs_version set version = version + 1, oldest = version + 1`)
		do(t, db, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ebb' and datname = current_database()`)
		return errors.New("in the middle")
	}}
	got := setup{env: map[string]string{"DATABASE_URL": url, "EBB_BATCH": "1", "EBB_CONCURRENCY": "1", "EBB_GRACE": "1s"}, handlers: []drain.Queue{handler}}.ebb("run")
	if r := got.summary(t); got.status != 1 || r.Claimed != 1 || r.Lost != 1 || !strings.Contains(r.Error, "use a newer ebb") {
		t.Errorf("exit %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if strings.Count(got.stderr, "the job could not be settled") != 1 {
		t.Errorf("the job is not named in %s", got.stderr)
	}
	if left := text(t, db, `select concat_ws(' ', status, attempts) from ebb.jobs where id = 1`); left != "running 1" {
		t.Errorf("the job is %s", left)
	}
}
