//go:build unix

package awake_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/schedule"
	"github.com/seed829e008e/ebb/schedule/awake"
)

// What it predicts is what a compute then does: not before, and no more than two seconds later.
func TestPredictsThePause(t *testing.T) {
	t.Parallel()
	for _, family := range []struct {
		of  schedule.Family
		its local.Family
	}{{schedule.Activity, local.CountsActivity}, {schedule.Connections, local.CountsConnections}} {
		t.Run(string(family.of), func(t *testing.T) {
			t.Parallel()
			pausing := make(chan time.Time, 100)
			compute := schedule.Compute{Family: family.of, IdleTimeout: 2 * time.Second}
			c, err := local.StartCompute(t.Context(), local.ComputeOptions{
				Options:     local.Options{Settings: map[string]string{"fsync": "off", "autovacuum": "off"}},
				Family:      family.its,
				IdleTimeout: compute.IdleTimeout,
				Observe: func(e local.Event) {
					if e.What == local.Pausing {
						pausing <- e.At
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
			})
			connect := func(name string) *pgx.Conn {
				conn, err := pgx.Connect(t.Context(), c.URL()+"&application_name="+name)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close(context.Background()) })
				return conn
			}
			look := func() awake.Verdict {
				t.Helper()
				began := time.Now()
				conn := connect("asker")
				defer conn.Close(context.Background())
				s, err := awake.Look(t.Context(), conn)
				if err != nil {
					t.Fatal(err)
				}
				s.Waited = time.Since(began)
				// The compute's own, which it leaves out. A vendor's has a user of its own.
				s.Sessions = slices.DeleteFunc(s.Sessions, func(x awake.Session) bool { return x.Application == "monitor" })
				return s.Verdict(compute)
			}
			pausesAt := func(v awake.Verdict) {
				t.Helper()
				if v.CouldPauseAt == nil {
					t.Fatalf("it is held awake: %+v", v.Reasons)
				}
				select {
				case at := <-pausing:
					off := at.Sub(*v.CouldPauseAt)
					if off < -200*time.Millisecond || off > 2*time.Second {
						t.Errorf("paused %v after what was predicted", off)
					}
				case <-time.After(20 * time.Second):
					t.Fatal("it does not pause")
				}
			}
			// A session that was just closed may still be there for a moment.
			lookFree := func() (v awake.Verdict) {
				for began := time.Now(); ; {
					if v = look(); v.CouldPauseAt != nil || time.Since(began) > 10*time.Second {
						return v
					}
				}
			}
			staysAwake := func(v awake.Verdict) {
				t.Helper()
				if v.CouldPauseAt != nil {
					t.Fatalf("nothing holds it awake: %+v", v.Reasons)
				}
				select {
				case <-pausing:
					t.Error("it paused")
				case <-time.After(compute.IdleTimeout + time.Second): // that nothing happens is no event
				}
			}

			pausesAt(lookFree())
			if v := look(); !v.Woken {
				t.Errorf("asking did not wake it: %+v", v)
			} else {
				pausesAt(v)
			}

			listener := connect("listener")
			do(t, listener, "LISTEN something")
			v := look()
			if v.Woken {
				t.Errorf("asking woke it: %+v", v)
			}
			if family.of == schedule.Activity {
				pausesAt(v)
			} else {
				staysAwake(v)
				listener.Close(t.Context())
				pausesAt(lookFree())
			}

			holder := connect("holder")
			do(t, holder, "BEGIN")
			staysAwake(look())
			holder.Close(t.Context())
			pausesAt(lookFree())
		})
	}
}
