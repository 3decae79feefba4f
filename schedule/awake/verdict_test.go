package awake

import (
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func of[T any](v T) *T { return &v }

func answer(holds *bool) string {
	switch {
	case holds == nil:
		return "maybe"
	case *holds:
		return "yes"
	}
	return "no"
}

// What needs a second server, an extension or luck to be seen for real.
func TestVerdictOfOtherKinds(t *testing.T) {
	ago := func(d time.Duration) *time.Time { return of(noon.Add(-d)) }
	for _, test := range []struct {
		name                           string
		in                             Snapshot
		kind                           Kind
		activity, connections, unknown string // empty: not a reason at all
	}{
		{"autovacuum", Snapshot{Sessions: []Session{{Type: of("autovacuum worker"), State: of("active"), Changed: ago(time.Second)}}}, Autovacuum, "yes", "no", "maybe"},
		{"walsender", Snapshot{Sessions: []Session{{Type: of("walsender"), User: "replica", Application: "standby", State: of("active"), Changed: ago(time.Hour)}}}, Walsender, "yes", "yes", "yes"},
		{"Neon's own walsender", Snapshot{Sessions: []Session{{Type: of("walsender"), Application: "walproposer"}}}, "", "", "", ""},
		{"vendor's session", Snapshot{Sessions: []Session{{Type: of("client backend"), User: "cloud_admin", State: of("active"), Changed: ago(0)}}}, "", "", "", ""},
		{"state is not tracked", Snapshot{Sessions: []Session{{Type: of("client backend"), State: of("disabled")}}}, Active, "yes", "yes", "yes"},
		{"just connecting", Snapshot{Sessions: []Session{{Type: of("client backend")}}}, Unknown, "maybe", "maybe", "maybe"},
		{"hidden", Snapshot{Sessions: []Session{{User: "somebody"}}}, Unknown, "maybe", "maybe", "maybe"},
		{"subscription", Snapshot{Subscriptions: []string{"orders"}}, Subscription, "yes", "maybe", "maybe"},
		{"pg_cron", Snapshot{Cron: true}, Cron, "maybe", "maybe", "maybe"},
	} {
		for family, want := range map[schedule.Family]string{schedule.Activity: test.activity, schedule.Connections: test.connections, "": test.unknown} {
			s := test.in
			s.At, s.Start, s.Role = noon, noon.Add(-time.Hour), "me"
			v := s.Verdict(schedule.Compute{Family: family, IdleTimeout: 5 * time.Minute})
			if want == "" {
				if len(v.Reasons) != 0 || v.CouldPauseAt == nil || !v.Certain {
					t.Errorf("%s, %q: %+v", test.name, family, v)
				}
				continue
			}
			if len(v.Reasons) != 1 || v.Reasons[0].Kind != test.kind || answer(v.Reasons[0].Holds) != want {
				t.Errorf("%s, %q: want %s %s, got %+v", test.name, family, test.kind, want, v.Reasons)
				continue
			}
			if r := v.Reasons[0]; r.What == "" || r.Change == "" {
				t.Errorf("%s, %q: %+v", test.name, family, r)
			}
			if (v.CouldPauseAt == nil) != (want == "yes") || v.Certain != (want != "maybe") || v.CouldPauseAt != nil && !v.CouldPauseAt.Equal(noon.Add(5*time.Minute)) {
				t.Errorf("%s, %q: could pause at %v, certain is %v", test.name, family, v.CouldPauseAt, v.Certain)
			}
		}
	}
}

func TestVerdictOrdersAndGroups(t *testing.T) {
	client, at := of("client backend"), func(minutes int) *time.Time { return of(noon.Add(-time.Duration(minutes) * time.Minute)) }
	s := Snapshot{At: noon, Start: noon.Add(-24 * time.Hour), Role: "me", Cron: true, Sessions: []Session{
		{PID: 1, Type: client, Application: "pool", User: "web", Address: "10.0.0.1", Database: "app", State: of("idle"), Changed: at(9)},
		{PID: 2, Type: client, Application: "report", User: "web", Address: "10.0.0.1", Database: "app", State: of("active"), Changed: at(1)},
		{PID: 3, Type: client, Application: "pool", User: "web", Address: "10.0.0.1", Database: "app", State: of("idle"), Changed: at(2)},
		{PID: 4, Type: client, Application: "psql", User: "ann", Address: "local", Database: "app", State: of("idle in transaction"), Changed: at(12)},
		{PID: 5, Type: client, Application: "pool", User: "web", Address: "10.0.0.1", Database: "app", State: of("idle"), Changed: at(3)},
	}}
	v := s.Verdict(schedule.Compute{Family: schedule.Activity, IdleTimeout: 5 * time.Minute})
	var got []Kind
	for _, r := range v.Reasons {
		got = append(got, r.Kind)
	}
	if want := []Kind{InTransaction, Active, Cron, Idle}; len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got, want := v.Reasons[3].What, "3 sessions idle for 9m: application pool, user web, from 10.0.0.1, database app"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if last := v.Reasons[3].LastActive; !last.Equal(noon.Add(-2 * time.Minute)) {
		t.Errorf("the pool was last active at %v", last)
	}
	if v.LastActive == nil || !v.LastActive.Equal(noon) {
		t.Errorf("last active at %v", v.LastActive)
	}
}

func TestVerdictOfAsking(t *testing.T) {
	s := Snapshot{At: noon, Start: noon.Add(-time.Second), Waited: 3 * time.Second}
	if v := s.Verdict(schedule.Compute{}); !v.Woken {
		t.Errorf("%+v", v)
	}
	s.Start = noon.Add(-4 * time.Second)
	if v := s.Verdict(schedule.Compute{}); v.Woken {
		t.Errorf("%+v", v)
	}
	// What was counted before a pause is not compared with what was after it.
	s.Before = &Snapshot{Start: noon.Add(-time.Hour), Databases: []Database{{"app", 1, 1}}}
	s.Databases = []Database{{"app", 100, 1e6}}
	if v := s.Verdict(schedule.Compute{Family: schedule.Activity}); !v.Paused || len(v.Reasons) != 0 {
		t.Errorf("%+v", v)
	}
	s.Before.Start = s.Start
	for _, test := range []struct {
		name, own  string
		opened     int64
		active     float64
		family     schedule.Family
		wantReason Kind
	}{
		{"app", "app", 1, 15, schedule.Activity, ""},
		{"app", "app", 2, 0, schedule.Activity, Opening},
		{"app", "other", 1, 0, schedule.Connections, Opening},
		{"app", "other", 0, 1, schedule.Activity, Working},
		{"app", "other", 0, 1, schedule.Connections, ""},
		{"postgres", "app", 9, 9, schedule.Activity, ""},
		{"postgres", "app", 9, 9, schedule.Connections, Opening},
	} {
		s.Database, s.Before.Databases, s.Databases = test.own, []Database{{test.name, 7, 7}}, []Database{{test.name, 7 + test.opened, 7 + test.active}}
		v := s.Verdict(schedule.Compute{Family: test.family})
		var got Kind
		if len(v.Reasons) > 0 {
			got = v.Reasons[0].Kind
		}
		if got != test.wantReason {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}
