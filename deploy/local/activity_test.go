package local

import (
	"testing"
	"time"
)

func TestLastActivity(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	long := time.Time{}
	nobody := sample{ActiveTime: 5, Opened: 3, IdleFor: -1}
	for _, test := range []struct {
		name                  string
		change                func(*sample)
		activity, connections time.Time
	}{
		{"nobody", func(*sample) {}, long, long},
		{"idle", func(s *sample) { s.Sessions, s.IdleFor = 1, 9 }, ago(9 * time.Second), now},
		{"busy", func(s *sample) { s.Sessions, s.Busy, s.IdleFor = 2, 1, 9 }, now, now},
		{"came and went", func(s *sample) { s.Opened++ }, now, long},
		{"worked unseen", func(s *sample) { s.Sessions, s.IdleFor, s.ActiveTime = 1, 9, 5.1 }, now, now},
		{"statistics reset", func(s *sample) { s.ActiveTime, s.Opened = 0, 0 }, now, long},
		{"autovacuum", func(s *sample) { s.Autovacuum = 1 }, now, long},
		{"walsender", func(s *sample) { s.Walsenders = 1 }, now, now},
		{"subscription", func(s *sample) { s.Subscriptions = 1 }, now, long},
	} {
		s := nobody
		test.change(&s)
		for family, want := range map[Family]time.Time{CountsActivity: test.activity, CountsConnections: test.connections} {
			if got := family.lastActivity(&nobody, s, now); !got.Equal(want) {
				t.Errorf("%s, where it %s: %v, want %v", test.name, family, got, want)
			}
		}
	}
	// What was counted before the first look says nothing.
	if got := CountsActivity.lastActivity(nil, nobody, now); !got.IsZero() {
		t.Errorf("first look: %v", got)
	}
}
