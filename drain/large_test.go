package drain_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A payload that prints over 16 MB is claimed before anybody reads it, so that a worker that dies of it has spent one of
// the job's attempts; one is in flight at a time, and the others get by.
func TestLargePayloads(t *testing.T) {
	r := newRig(t)
	const many = `(select jsonb_agg(1e131071) from generate_series(1, 130))` // 17 MB, of a few hundred bytes stored
	r.exec(`insert into ebb.jobs (payload, lost) values
		(` + many + `, 0), ('{}', 0), (to_jsonb(repeat('x', 17000000)), 0), ('{}', 0), (to_jsonb(repeat('y', 2000000)), 0), (` + many + `, 2)`)
	var state []string
	look := schematest.Connect(t, r.url)
	config := r.config(func(ctx context.Context, job drain.Job) error {
		other, err := pgx.Connect(ctx, schematest.Direct(r.url))
		if err != nil {
			return err
		}
		defer other.Close(ctx)
		var want string
		if err := other.QueryRow(ctx, `select payload::text from ebb.jobs where id = $1`, job.ID).Scan(&want); err != nil {
			return err
		}
		if !bytes.Equal(job.Payload, []byte(want)) {
			return fmt.Errorf("payload of %d bytes, not %d", len(job.Payload), len(want))
		}
		return nil
	})
	config.Batch, config.Concurrency = 1, 1
	config.Observe = func(report drain.Report) { // after each exchange, and so before the payload of the job that it claimed is here
		var text string
		err := look.QueryRow(context.Background(), `select coalesce(string_agg(id || ':' || attempts, ' '), '') from ebb.jobs where status = 'running'`).Scan(&text)
		if err != nil {
			t.Error(err)
		}
		state = append(state, text)
	}
	report := r.run(config)
	if report.Done != 6 {
		t.Errorf("%+v", report)
	}
	for _, id := range []int{1, 3, 6} {
		claimed := slices.Index(state, fmt.Sprintf("%d:1", id))
		if claimed < 0 || state[claimed+1] != state[claimed] {
			t.Errorf("job %d was not claimed in an exchange before its payload was read: %q", id, state)
		}
	}
}

// A job that another run took while its payload was to be read is lost to this one, and one whose payload cannot be read
// is given back.
func TestLargePayloadThatIsGone(t *testing.T) {
	r := newRig(t)
	r.exec(`insert into ebb.jobs (payload) values (to_jsonb(repeat('x', 17000000))), ('{}')`)
	config := r.config(nil)
	hand := schematest.Connect(t, r.url)
	config.Observe = func(report drain.Report) {
		if report.Claimed == 1 {
			if _, err := hand.Exec(context.Background(), `update ebb.jobs set attempts = 2, locked_by = 'another' where id = 1 and attempts = 1`); err != nil {
				t.Error(err)
			}
		}
	}
	if report := r.run(config); report.Done != 1 || report.Lost != 1 || report.Claimed != 2 {
		t.Errorf("%+v", report)
	}
	r.want(`select locked_by, attempts from ebb.jobs where id = 1`, "(another,2)")
}
