package drain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
)

func ExampleRun() {
	report, err := drain.Run(context.Background(), drain.Config{
		Database: func() (*pgx.ConnConfig, error) { return pgx.ParseConfig(os.Getenv("DATABASE_URL")) },
		Queues: []drain.Queue{{
			Name:    "email",
			Timeout: time.Minute,
			Handler: func(ctx context.Context, job drain.Job) error {
				var mail struct{ To string }
				if err := json.Unmarshal(job.Payload, &mail); err != nil {
					return drain.Fail(err) // no retry will mend that
				}
				fmt.Println("to", mail.To)
				return nil
			},
		}},
	})
	fmt.Println(report.Stopped, report.Done, err)
}

// The job is there when the order is, and never when it is not.
func ExampleEnqueue() {
	ctx := context.Background()
	place := func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `insert into orders (id) values (7)`); err != nil {
			return err
		}
		_, _, err := drain.Enqueue(ctx, tx, "", drain.NewJob{Queue: "invoice", Payload: json.RawMessage(`{"order": 7}`)})
		return err
	}
	_ = place
}

// What the receipt is for and that the job is done become true together.
func ExampleJob_CompleteTx() {
	handler := func(ctx context.Context, job drain.Job) error {
		db, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
		if err != nil {
			return drain.Suspend(err)
		}
		defer db.Close(ctx)
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `insert into receipts (job) values ($1)`, job.ID); err != nil {
				return err
			}
			return job.CompleteTx(ctx, tx)
		})
	}
	_ = handler
}
