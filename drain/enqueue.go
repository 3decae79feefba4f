package drain

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed enqueue.sql
var enqueueStatement statement

const (
	// maxQueue and maxUniqueKey are bytes. An entry of an index takes at most 2704 of them, and this one holds both.
	maxQueue     = 512
	maxUniqueKey = 2048
	// maxSet is how many bytes of jobs go into one statement: any usual set does, and it is far from the gigabyte that
	// Postgres takes.
	maxSet = 32 << 20
	// maxNamed is how many mistakes an error names.
	maxNamed = 10
)

// A NewJob is a job to be enqueued. The zero value of every field but Payload means its default.
type NewJob struct {
	// Queue picks the handler; default unless set. At most 512 bytes.
	Queue string
	// Payload is the job's JSON. It is sent as it is; what jsonb makes of it is told at [CheckPayload].
	Payload json.RawMessage
	// RunAt is when the job falls due: now, by the database's clock, unless set. A time that has passed is due at once.
	// Years 1 to 9999; the database keeps microseconds.
	RunAt time.Time
	// UniqueKey lets at most one queued or running job of the queue have it; none unless set. A job that runs holds its
	// key until it is settled for good: an event that arrives meanwhile is dropped, also if the handler has read what it
	// needed before. At most 2048 bytes.
	UniqueKey string
	// MaxAttempts is how often the job is started at most; 5 unless set. Negative values are refused.
	MaxAttempts int
}

// A DB is a *pgx.Conn, a *pgxpool.Pool or a pgx.Tx, in any of pgx's query modes and behind any pooler that the mode
// works with.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Enqueue inserts a job into the tables of a schema, ebb where it is empty, and returns its id. It inserts nothing, and
// says so without an error, when a queued or running job of the queue holds the job's key.
//
// Given a transaction, the job is there when that commits and not otherwise, and no setting of it is changed. A key that
// another transaction has inserted and not yet committed is waited for. In a transaction that is not read committed,
// a key that somebody else took after its snapshot is a serialization failure (40001).
//
// What the database could not store is refused before it is asked: the error is [ErrRefused] and names the field, and
// the path within the payload.
func Enqueue(ctx context.Context, db DB, schema string, job NewJob) (id int64, inserted bool, err error) {
	schema, err = schemaOf(schema)
	if err != nil {
		return 0, false, err
	}
	if err := job.Check(); err != nil {
		return 0, false, err
	}
	n, id, err := insert(ctx, db, schema, []NewJob{job.withDefaults()})
	return id, n > 0, err
}

// EnqueueMany inserts jobs as [Enqueue] does, all or none of them, and returns how many were not left out because of
// their key; of those that share one in the set the first is inserted. The mistakes are named by the job's index, such
// as jobs[3].
//
// Jobs are inserted in the order of their queues and keys, so that two calls with keys in common cannot deadlock; those
// of one queue without a key keep the order of the set. (A transaction that enqueues several times has to keep to such
// an order by itself.) One statement takes a set of up to 32 MB; a larger one takes several, in a transaction, which is
// a savepoint where a transaction was given.
func EnqueueMany(ctx context.Context, db DB, schema string, jobs []NewJob) (inserted int64, err error) {
	schema, err = schemaOf(schema)
	if err != nil {
		return 0, err
	}
	if err := checkAll(jobs); err != nil {
		return 0, err
	}
	sets := split(jobs)
	if len(sets) == 0 {
		return 0, nil
	}
	if len(sets) == 1 {
		inserted, _, err = insert(ctx, db, schema, sets[0])
		return inserted, err
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		for _, set := range sets {
			n, _, err := insert(ctx, tx, schema, set)
			if err != nil {
				return err
			}
			inserted += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return inserted, nil
}

func insert(ctx context.Context, db DB, schema string, jobs []NewJob) (inserted, first int64, err error) {
	n := len(jobs)
	queues, payloads, keys := make([]string, n), make([]string, n), make([]string, n)
	runAt, maxAttempts := make([]pgtype.Timestamptz, n), make([]int32, n)
	for i, j := range jobs {
		queues[i], payloads[i], keys[i] = j.Queue, string(j.Payload), j.UniqueKey
		runAt[i] = pgtype.Timestamptz{Time: j.RunAt, Valid: !j.RunAt.IsZero()}
		maxAttempts[i] = int32(j.MaxAttempts)
	}
	err = db.QueryRow(ctx, enqueueStatement.in(schema), pgx.StrictNamedArgs{
		"queues": queues, "payloads": payloads, "run_at": runAt, "keys": keys, "max_attempts": maxAttempts,
	}).Scan(&inserted, &first)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "42P01": // undefined_table, also where the schema is missing
		return 0, 0, reworded{fmt.Sprintf("schema %s has no jobs table; run: ebb migrate", schema), errors.Join(ErrRefused, err)}
	case isUnencodable(err):
		return 0, 0, refuse("the database's encoding has not all characters of the job: %w; one of the encoding UTF8 has", err)
	case err != nil:
		return 0, 0, reworded{"enqueueing: " + brief(err) + hint(err), err}
	}
	return inserted, first, nil
}

// split brings jobs into the order in which they are inserted, and into sets of which each is one statement.
func split(jobs []NewJob) [][]NewJob {
	sorted := make([]NewJob, len(jobs))
	for i, j := range jobs {
		sorted[i] = j.withDefaults()
	}
	slices.SortStableFunc(sorted, func(a, b NewJob) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.UniqueKey, b.UniqueKey))
	})
	var sets [][]NewJob
	size, from := 0, 0
	for i, j := range sorted {
		bytes := len(j.Payload) + len(j.Queue) + len(j.UniqueKey) + 64
		if size+bytes > maxSet && i > from {
			sets = append(sets, sorted[from:i])
			size, from = 0, i
		}
		size += bytes
	}
	if from < len(sorted) {
		sets = append(sets, sorted[from:])
	}
	return sets
}

func (j NewJob) withDefaults() NewJob {
	if j.Queue == "" {
		j.Queue = "default"
	}
	if j.MaxAttempts == 0 {
		j.MaxAttempts = 5
	}
	return j
}

// checkAll gives the mistakes of the first jobs that have some, joined.
func checkAll(jobs []NewJob) error {
	var mistakes []error
	for i, j := range jobs {
		err := j.Check()
		if err == nil {
			continue
		}
		if len(mistakes) == maxNamed {
			mistakes = append(mistakes, refuse("jobs[%d] and maybe later ones have mistakes too", i))
			break
		}
		mistakes = append(mistakes, fmt.Errorf("jobs[%d]: %w", i, err))
	}
	return errors.Join(mistakes...)
}

// Check gives the first mistake in a job, without a database; nil where there is none.
func (j NewJob) Check() error {
	if err := checkText("queue", j.Queue, maxQueue); err != nil {
		return err
	}
	if err := checkText("unique key", j.UniqueKey, maxUniqueKey); err != nil {
		return err
	}
	if year := j.RunAt.UTC().Year(); year < 1 || year > 9999 {
		return refuse("run at: the year %d is not one of 1 to 9999", year)
	}
	if j.MaxAttempts < 0 || j.MaxAttempts > math.MaxInt32 {
		return refuse("max attempts: %d is not one of 1 to %d, or 0 for 5", j.MaxAttempts, math.MaxInt32)
	}
	return CheckPayload(j.Payload)
}

func checkText(field, text string, most int) error {
	if len(text) > most {
		return refuse("%s: %d bytes are more than %d", field, len(text), most)
	}
	for i, r := range text {
		switch {
		case r == 0:
			return refuse("%s: %q has a NUL at offset %d, which Postgres cannot store", field, text, i)
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			return refuse("%s: %q is not UTF-8: byte 0x%02x at offset %d", field, text, text[i], i)
		}
	}
	return nil
}

// schemaOf is the schema to use. Postgres would cut a name that is too long off, and find another schema.
func schemaOf(schema string) (string, error) {
	return cmp.Or(schema, "ebb"), checkText("schema", schema, 63)
}
