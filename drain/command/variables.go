package command

import (
	"context"
	"strconv"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// timeFormat is RFC 3339 with all that Postgres keeps of a time.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// variables is the job, as its command finds it in the environment.
func variables(ctx context.Context, job drain.Job) []string {
	runAt := "-infinity"
	if !job.RunAt.IsZero() {
		runAt = job.RunAt.UTC().Format(timeFormat)
	}
	vars := []string{
		"EBB_JOB_ID=" + strconv.FormatInt(job.ID, 10),
		"EBB_JOB_QUEUE=" + job.Queue,
		"EBB_JOB_ATTEMPT=" + strconv.Itoa(job.Attempt),
		"EBB_JOB_MAX_ATTEMPTS=" + strconv.Itoa(job.MaxAttempts),
		"EBB_JOB_RUN_AT=" + runAt,
		"EBB_JOB_LAST_ERROR=" + job.LastError,
		"EBB_RUN_ID=" + job.Run,
	}
	if deadline, ok := ctx.Deadline(); ok {
		vars = append(vars, "EBB_JOB_DEADLINE="+deadline.UTC().Truncate(time.Microsecond).Format(timeFormat))
	}
	return vars
}
