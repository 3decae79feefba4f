package command

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/drain"
)

// timeFormat is RFC 3339 with all that Postgres keeps of a time.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// maxLastError is the most of a last error that a command is given: a larger one, in a row that somebody wrote by hand, could
// be more than the system passes on, and no attempt would ever start.
const maxLastError = 8 << 10

// bounded cuts what is more out of the middle.
func bounded(text string) string {
	if len(text) <= maxLastError {
		return text
	}
	keep := (maxLastError - len(cutMark)) / 2
	return strings.ToValidUTF8(text[:keep], "") + cutMark + strings.ToValidUTF8(text[len(text)-keep:], "")
}

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
