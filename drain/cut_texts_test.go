package drain_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/jobs"
)

// Whoever may insert may write a last_error and a queue's name of any size, and any number of queues. What a run and a
// look read of them is bounded, and their memory with it.
func TestTextsAreCutWhereTheyAreRead(t *testing.T) {
	r := newRig(t)
	const most = 32 << 20
	r.exec(`insert into ebb.jobs (payload, last_error, lost) select '1', 'head' || repeat('x', 20000000) || 'tail', case i when 9 then 2 else 0 end from generate_series(1, 9) i`)
	r.exec(`insert into ebb.jobs (payload, last_error) values ('2', repeat('é', 4000)), ('3', repeat('日', 4000)), ('4', repeat('z', 8192))`)
	r.exec(`insert into ebb.jobs (queue, payload) select case when i <= 400 then repeat('q', 150000) else 'z' end || i, '1' from generate_series(1, 1000) i`)
	r.exec(`insert into ebb.jobs (queue, payload, status, attempts, max_attempts) select repeat('r', 150000) || i, '1', 'running', 1, 1 from generate_series(1, 300) i`)
	grown := func(what string, do func()) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		if after.HeapSys > before.HeapSys+most {
			t.Errorf("%s took %d MB", what, (after.HeapSys-before.HeapSys)>>20)
		}
	}
	var mu sync.Mutex
	told := map[string]string{}
	config, log := logged(r.config(func(_ context.Context, job drain.Job) error {
		mu.Lock()
		defer mu.Unlock()
		told[string(job.Payload)] = job.LastError
		return nil
	}))
	grown("a run", func() {
		if report := r.run(config); report.Done != 12 || report.Reaped != 300 || report.Unhandled != 1300 {
			t.Errorf("%+v", report)
		}
	})
	if s := told["1"]; len(s) > 8192 || len(s) < 7000 || !strings.HasPrefix(s, "headxxx") || !strings.HasSuffix(s, "xxxtail") || !strings.Contains(s, " ... [20000008 bytes, cut] ... ") {
		t.Errorf("%d bytes: %.100s", len(s), s)
	}
	if s := told["2"]; s != strings.Repeat("é", 4000) {
		t.Errorf("%d bytes of 8000", len(s))
	}
	if s := told["3"]; len(s) > 8192 || !strings.HasPrefix(s, "日") || !strings.HasSuffix(s, "日") {
		t.Errorf("%d bytes of 12000", len(s))
	}
	if s := told["4"]; len(s) != 8192 {
		t.Errorf("%d bytes of 8192", len(s))
	}
	if said := log.String(); len(said) > 300*1000 || !strings.Contains(said, "and 1280 more") {
		t.Errorf("the log is %d bytes long", len(said))
	}
	grown("a look", func() {
		s, err := jobs.Look(t.Context(), r.db, "ebb", 5)
		if err != nil || len(s.Queues) != 1000 || s.More != 301 || s.Queues[0].Name != "default" {
			t.Errorf("%d queues and %d more, %v", len(s.Queues), s.More, err)
		}
		for _, q := range s.Queues {
			if len(q.Name) > 512 {
				t.Fatalf("a name has %d bytes", len(q.Name))
			}
		}
	})
}
