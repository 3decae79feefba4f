//go:build unix

package cli

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schema"
)

// A story is all that happened to a compute.
type story struct {
	mu     sync.Mutex
	events []local.Event
}

func (s *story) add(e local.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *story) all() []local.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// count counts what ebb did to the compute since a time.
func (s *story) count(what local.What, since time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.What == what && e.Client == "ebb" && !e.At.Before(since) {
			n++
		}
	}
	return n
}

// ebb serve stays, asked for its health ten times a second, and the database sleeps between all runs: those that are
// called and one by the schedule. Each run opens one connection, and between runs there is none.
func TestTheDatabaseSleepsWhileEbbServes(t *testing.T) {
	t.Parallel()
	for _, family := range []local.Family{local.CountsActivity, local.CountsConnections} {
		t.Run(family.String(), func(t *testing.T) {
			t.Parallel()
			var happened story
			c, err := local.StartCompute(t.Context(), local.ComputeOptions{
				Options:     local.Options{Settings: map[string]string{"fsync": "off"}},
				IdleTimeout: time.Second, Family: family, Observe: happened.add,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Stop() })
			conn, err := pgx.Connect(t.Context(), c.URL()+"&application_name=test")
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Migrate(t.Context(), conn, "ebb", nil); err != nil {
				t.Fatal(err)
			}
			do(t, conn, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 40)`)
			conn.Close(t.Context())
			asleep := func(what string) {
				t.Helper()
				for late := time.Now().Add(30 * time.Second); !c.IsPaused(); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(late) {
						t.Fatalf("%s: the compute does not pause: %v", what, happened.all())
					}
				}
			}

			began := time.Now()
			s := serving(t, map[string]string{"DATABASE_URL": c.URL(), "EBB_TOKEN": rightToken, "EBB_ADDR": "127.0.0.1:0", "EBB_SCHEDULE": "* * * * *"},
				nil, "serve", "--max-jobs", "10", "--", "true")
			over, asked := make(chan struct{}), make(chan int)
			go func() {
				n := 0
				for {
					select {
					case <-over:
						asked <- n
						return
					case <-time.After(100 * time.Millisecond):
						if r := s.ask("GET", "/healthz", ""); r.status == 200 {
							n++
						}
					}
				}
			}()

			asleep("before the first run")
			for range 2 {
				before := time.Now()
				if r := s.run(); r.status != 200 || r.report.Done != 10 {
					t.Errorf("%+v", r)
				}
				asleep("after a call")
				// A minute may have begun meanwhile.
				if opened, resumed := happened.count(local.Opened, before), happened.count(local.Resuming, before); opened > 2 || resumed > 2 || opened < 1 {
					t.Errorf("a call opened %d connections and resumed the compute %d times", opened, resumed)
				}
			}
			for happened.count(local.Opened, began) < 3 { // by the schedule, within a minute
				if time.Since(began) > 2*time.Minute {
					t.Fatalf("no run by the schedule: %s", s.stderr)
				}
				time.Sleep(10 * time.Millisecond)
			}
			asleep("after the schedule's run")
			close(over)
			if n := <-asked; n < 10 {
				t.Errorf("its health was told %d times", n)
			}
			s.signals <- syscall.SIGTERM
			got := s.end(t, 10*time.Second)
			opened, closed := happened.count(local.Opened, began), happened.count(local.Closed, began)
			if runs := strings.Count(got.stdout, "\n"); got.status != 0 || opened != runs || closed != opened {
				t.Errorf("exit %d: %d runs, %d connections opened and %d closed\n%s", got.status, runs, opened, closed, got.stderr)
			}
			if !c.IsPaused() {
				t.Error("ebb's end woke the compute")
			}
		})
	}
}
