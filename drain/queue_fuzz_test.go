package drain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// A queue's name that the settings accept is one that Postgres can store, and the other way round; a name that may be
// enqueued may also be drained, and is stored as it is.
func FuzzQueueName(f *testing.F) {
	for _, name := range []string{
		"default", "", " ", "Send-Mail", "a\x00b", "\xff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\uFFFD", "é語😀", "a\nb", `"quoted"`, "a'; --",
		"null", "{a,b}", `\`, strings.Repeat("q", 512), strings.Repeat("é", 257), strings.Repeat("q", 3000), "\u202e", "\ufeff",
	} {
		f.Add(name)
	}
	db := schematest.Connect(f, schematest.New(f))
	f.Fuzz(func(t *testing.T, name string) {
		config := drain.Config{
			Database: func() (*pgx.ConnConfig, error) { return nil, nil },
			Queues:   []drain.Queue{{Name: name, Handler: func(context.Context, drain.Job) error { return nil }}},
		}
		drains, enqueues := config.Check(), drain.NewJob{Queue: name, Payload: []byte("{}")}.Check()
		_, stores := db.Exec(t.Context(), "select $1::text", pgx.QueryExecModeExec, name)
		if (drains == nil) != (stores == nil && name != "") {
			t.Errorf("queue %.200q: Config.Check says %v, Postgres says %v", name, drains, stores)
		}
		for _, err := range []error{drains, enqueues} {
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("queue %.200q: more than one line: %v", name, err)
			}
		}
		if enqueues != nil || name == "" { // the empty one is default's
			return
		}
		if drains != nil {
			t.Errorf("queue %.200q may be enqueued and not drained: %v", name, drains)
		}
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(t.Context())
		var stored string
		if _, inserted, err := drain.Enqueue(t.Context(), tx, "", drain.NewJob{Queue: name, Payload: []byte("{}"), UniqueKey: "k"}); err != nil || !inserted {
			t.Fatalf("queue %.200q: not enqueued: %v", name, err)
		}
		if err := tx.QueryRow(t.Context(), "select queue from ebb.jobs").Scan(&stored); err != nil || stored != name {
			t.Errorf("queue %.200q is stored as %.200q, %v", name, stored, err)
		}
	})
}
