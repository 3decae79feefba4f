package drain

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed complete.sql
var completeStatement statement

// A completion is what CompleteTx leaves for the run to know.
type completion struct {
	schema string
	tried  bool
}

// CompleteTx completes the job in the handler's own transaction on the same database, so that what the job did and that
// it is done become true together. It returns [ErrLeaseLost] when another run may own the job by now: roll back then.
// When the handler returns, the row decides: a job that this attempt completed is done whatever the handler returned,
// and one that still runs has failed this attempt, because its completion was not committed.
func (j Job) CompleteTx(ctx context.Context, tx pgx.Tx) error {
	if j.completion == nil {
		return errors.New("this job was not claimed by a run, so it cannot be completed")
	}
	j.completion.tried = true
	tag, err := tx.Exec(ctx, completeStatement.in(j.completion.schema),
		pgx.StrictNamedArgs{"id": j.ID, "attempt": j.Attempt, "run": j.Run})
	if err != nil {
		return fmt.Errorf("completing job %d: %w", j.ID, err)
	}
	if tag.RowsAffected() == 0 {
		return ErrLeaseLost
	}
	return nil
}
