package awake_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schedule"
	"github.com/seed829e008e/ebb/schedule/awake"
	"github.com/seed829e008e/ebb/schema/schematest"
)

func do(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// session opens a session with a name, in which something is done.
func session(t *testing.T, url, name, sql string) *pgx.Conn {
	t.Helper()
	conn := schematest.Connect(t, url+"&application_name="+name+"&default_query_exec_mode=exec")
	do(t, conn, sql)
	return conn
}

// lookUntil looks until something is seen, through one connection, and leaves out the sessions of other tests.
func lookUntil(t *testing.T, conn *pgx.Conn, what string, seen func(awake.Snapshot) bool) awake.Snapshot {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s, err := awake.Look(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		s.Sessions = slices.DeleteFunc(s.Sessions, func(x awake.Session) bool { return x.Database != s.Database })
		s.Databases = slices.DeleteFunc(s.Databases, func(x awake.Database) bool { return x.Name != s.Database })
		if seen(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("not seen: %s\n%+v", what, s.Sessions)
		}
	}
}

func reason(v awake.Verdict, application string) awake.Reason {
	i := slices.IndexFunc(v.Reasons, func(r awake.Reason) bool { return r.Application == application })
	if i < 0 {
		return awake.Reason{}
	}
	return v.Reasons[i]
}

func said(holds *bool) string {
	switch {
	case holds == nil:
		return "maybe"
	case *holds:
		return "yes"
	}
	return "no"
}

// open opens a session of every kind that a client's can be.
func open(t *testing.T, url string) {
	t.Helper()
	session(t, url, "idler", "SELECT 1")
	session(t, url, "listener", " listen something")
	session(t, url, "holder", "BEGIN")
	aborted := session(t, url, "aborted", "BEGIN")
	if _, err := aborted.Exec(t.Context(), "SELECT 1/0"); err == nil {
		t.Fatal("no error")
	}
	worker := session(t, url, "worker", "SELECT 1")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		worker.Exec(ctx, "SELECT pg_sleep(600)")
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func settled(s awake.Snapshot) bool {
	state := map[string]string{}
	for _, x := range s.Sessions {
		if x.State != nil {
			state[x.Application] = *x.State
		}
	}
	return state["worker"] == "active" && state["idler"] == "idle" && state["listener"] == "idle" && state["holder"] == "idle in transaction"
}

func TestSessionsOfEveryKind(t *testing.T) {
	t.Parallel()
	url := schematest.New(t)
	open(t, url)
	conn := schematest.Connect(t, url+"&application_name=asker&default_query_exec_mode=exec")
	s := lookUntil(t, conn, "everybody", settled)
	if !s.SeesAll || s.Cron || s.Start.IsZero() || s.At.Before(s.Start) || time.Since(s.At).Abs() > time.Minute {
		t.Errorf("%+v", s)
	}
	for _, family := range []struct {
		of   schedule.Family
		want map[string]string
	}{
		{schedule.Activity, map[string]string{"idler": "idle no", "listener": "listening no", "holder": "idle in transaction yes", "aborted": "idle in transaction yes", "worker": "active yes"}},
		{schedule.Connections, map[string]string{"idler": "idle yes", "listener": "listening yes", "holder": "idle in transaction yes", "aborted": "idle in transaction yes", "worker": "active yes"}},
		{"", map[string]string{"idler": "idle maybe", "listener": "listening maybe", "holder": "idle in transaction yes", "aborted": "idle in transaction yes", "worker": "active yes"}},
	} {
		v := s.Verdict(schedule.Compute{Family: family.of, IdleTimeout: time.Minute})
		for name, want := range family.want {
			r := reason(v, name)
			if got := string(r.Kind) + " " + said(r.Holds); got != want {
				t.Errorf("%q: %s is %s, want %s", family.of, name, got, want)
			}
			if r.Address == "" || r.User == "" || r.Database != s.Database || len(r.PIDs) != 1 || r.Since == nil || !strings.Contains(r.What, name) || r.Change == "" {
				t.Errorf("%q: %+v", family.of, r)
			}
			if r.LastActive == nil || said(r.Holds) == "yes" && !r.LastActive.Equal(s.At) || said(r.Holds) != "yes" && !r.LastActive.Equal(*r.Since) {
				t.Errorf("%q: %s was last active at %v, looked at %v", family.of, name, r.LastActive, s.At)
			}
		}
		if r := reason(v, "asker"); r.Kind != "" {
			t.Errorf("who asks is in it: %+v", r)
		}
		if v.CouldPauseAt != nil || v.Certain != (family.of != "") {
			t.Errorf("%q: %+v", family.of, v)
		}
	}
}

// What a role may not see is unknown, and never clean.
func TestWithoutPrivileges(t *testing.T) {
	t.Parallel()
	url := schematest.New(t)
	open(t, url)
	conn := schematest.Connect(t, url)
	lookUntil(t, conn, "everybody", settled)
	role := strings.ReplaceAll(conn.Config().Database, "-", "_") + "_nobody"
	do(t, conn, "CREATE ROLE "+role)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), "DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	do(t, conn, "SET ROLE "+role)
	s := lookUntil(t, conn, "hidden sessions", func(s awake.Snapshot) bool { return len(s.Sessions) >= 5 })
	if s.SeesAll || s.Role != role {
		t.Errorf("%+v", s)
	}
	for _, family := range []schedule.Family{schedule.Activity, schedule.Connections, ""} {
		v := s.Verdict(schedule.Compute{Family: family, IdleTimeout: time.Minute})
		for _, name := range []string{"idler", "listener", "holder", "worker"} {
			r := reason(v, name)
			if r.Kind != awake.Unknown || r.Holds != nil || r.LastActive != nil || !strings.Contains(r.Change, "GRANT pg_read_all_stats TO") {
				t.Errorf("%q: %+v", family, r)
			}
		}
		if v.Certain || v.CouldPauseAt == nil || !v.CouldPauseAt.Equal(s.At.Add(time.Minute)) {
			t.Errorf("%q: %+v", family, v)
		}
	}
	do(t, conn, "RESET ROLE")
}

// Two looks show who came and went, and who did something; and not those who only looked.
func TestWatch(t *testing.T) {
	t.Parallel()
	url := schematest.New(t)
	activity := schedule.Compute{Family: schedule.Activity, IdleTimeout: time.Minute}
	look := func() awake.Snapshot {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		return lookUntil(t, conn, "itself", func(awake.Snapshot) bool { return true })
	}
	poller := session(t, url, "poller", "SELECT 1")
	session(t, url, "idler", "SELECT 1")
	first := look()
	lookUntil(t, poller, "the look's end", func(s awake.Snapshot) bool { return len(s.Sessions) == 1 })
	second := look()
	second.Before = &first
	v := second.Verdict(activity)
	if r := reason(v, "poller"); r.Kind != awake.Polling || r.Holds != nil {
		t.Errorf("%+v", r)
	}
	if r := reason(v, "idler"); r.Kind != awake.Idle {
		t.Errorf("%+v", r)
	}
	for _, r := range v.Reasons {
		if r.Kind == awake.Opening {
			t.Errorf("who only looks is counted: %+v", r)
		}
	}
	if v.Certain || v.CouldPauseAt == nil {
		t.Errorf("%+v", v)
	}

	visitor, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	visitor.Close(t.Context())
	lookUntil(t, poller, "the visitor's end", func(s awake.Snapshot) bool {
		return len(s.Sessions) == 1 && s.Databases[0].Opened >= second.Databases[0].Opened+1
	})
	third := look()
	third.Before = &second
	v = third.Verdict(activity)
	if i := slices.IndexFunc(v.Reasons, func(r awake.Reason) bool { return r.Kind == awake.Opening }); i < 0 || v.Reasons[i].Database != third.Database {
		t.Errorf("the visitor is not seen: %+v\n%+v\n%+v", v.Reasons, second.Databases, third.Databases)
	}
}
