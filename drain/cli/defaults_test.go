package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// told is the default that the settings' list promises, up to the first comma.
func told(t *testing.T, variable string) string {
	t.Helper()
	for _, s := range Settings() {
		if s.Variable == variable {
			first, _, _ := strings.Cut(s.Default, ",")
			return first
		}
	}
	t.Fatalf("there is no setting %s", variable)
	return ""
}

func toldDuration(t *testing.T, variable string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(told(t, variable))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// about says whether a measured time is the one that was told, but for what passed meanwhile.
func about(measured, told time.Duration) bool { return measured <= told && measured > told-told/4 }

// The defaults are drain's: a run with no settings behaves as the list says.
func TestDefaults(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload) select '{}' from generate_series(1, 12)`)
	do(t, db, `insert into ebb.jobs (queue, payload, attempts, max_attempts) values ('retry', '{}', 0, 5), ('retry', '{}', 20, 99)`)

	concurrency, err := strconv.Atoi(told(t, "EBB_CONCURRENCY"))
	if err != nil {
		t.Fatal(err)
	}
	var running, most atomic.Int64
	var timeout, lease time.Duration
	all := make(chan struct{})
	handler := func(ctx context.Context, job drain.Job) error {
		now := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), now))
		if now == int64(concurrency) {
			deadline, _ := ctx.Deadline()
			timeout = time.Until(deadline)
			var seconds float64
			if err := db.QueryRow(ctx, `select extract(epoch from locked_until - started_at)::float8 from ebb.jobs where id = $1`, job.ID).Scan(&seconds); err != nil {
				return err
			}
			lease = time.Duration(seconds * float64(time.Second))
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	got := setup{env: map[string]string{"DATABASE_URL": url}, handlers: []drain.Queue{
		{Name: "default", Handler: handler},
		{Name: "retry", Handler: func(context.Context, drain.Job) error { return errors.New("no") }},
	}}.ebb("run")
	if r := got.summary(t); got.status != 0 || r.Done != 12 || r.Retried != 2 {
		t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}

	if most.Load() != int64(concurrency) {
		t.Errorf("%d handlers at once", most.Load())
	}
	if !about(timeout, toldDuration(t, "EBB_JOB_TIMEOUT")) {
		t.Errorf("a job has %v", timeout)
	}
	if want := toldDuration(t, "EBB_JOB_TIMEOUT") + toldDuration(t, "EBB_GRACE") + time.Minute; lease != want || told(t, "EBB_LEASE") != "timeout + grace + 1m" {
		t.Errorf("a claim holds for %v, want %v", lease, want)
	}
	for attempts, want := range map[int]time.Duration{1: 2 * toldDuration(t, "EBB_BACKOFF"), 21: toldDuration(t, "EBB_MAX_BACKOFF")} {
		var seconds float64
		if err := db.QueryRow(t.Context(), `select extract(epoch from run_at - now())::float8 from ebb.jobs where queue = 'retry' and attempts = $1`, attempts).Scan(&seconds); err != nil {
			t.Fatal(err)
		}
		if delay := time.Duration(seconds * float64(time.Second)); !about(delay, want) {
			t.Errorf("after attempt %d a job is due in %v, want %v", attempts, delay, want)
		}
	}
}

// The budget less the grace is what a timeout must fit into, to the second.
func TestDefaultBudget(t *testing.T) {
	room := toldDuration(t, "EBB_MAX_RUNTIME") - toldDuration(t, "EBB_GRACE")
	for timeout, want := range map[time.Duration]int{room: refused, room - time.Second: failed} {
		got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_JOB_TIMEOUT": timeout.String(), "EBB_CONNECT_TIMEOUT": "50ms"}}.ebb("run", "--", "sh")
		if got.status != want {
			t.Errorf("a timeout of %v: exit %d, %s", timeout, got.status, got.stderr)
		}
	}
}
