package drain

import (
	_ "embed"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed claim.sql
var claimStatement statement

//go:embed claim_alone.sql
var claimAloneStatement statement

//go:embed alone_due.sql
var aloneDueStatement statement

// maxPayloads is the most payload, in bytes, that one claim brings; what is larger by itself comes alone.
const maxPayloads = 16 << 20

// A claim asks for due jobs.
type claim struct {
	most  int
	rooms []room  // in drain order
	skip  []int64 // released by this run, or impossible to claim
	only  []int64 // nil: any
	large bool    // a payload over maxPayloads may come
	alone alone
	seek  bool // tell whether a job that has to run alone is due
}

// An alone says whether a job that has to run alone may come. That needs an empty hand.
type alone int

const (
	noneAlone alone = iota
	elseAlone       // where nothing else is to be had
	onlyAlone       // and nothing else
)

// A room is how many jobs of one queue may come, and for how long they are leased.
type room struct {
	queue string
	jobs  int
	lease time.Duration
	since place // zero: from the beginning
}

// A place is one in a queue's order.
type place struct {
	runAt time.Time
	id    int64
}

func (p place) before(other place) bool {
	return p.runAt.Before(other.runAt) || p.runAt.Equal(other.runAt) && p.id < other.id
}

// A claimed row is a job in hand, unless its attempts were spent and it was failed instead.
type claimed struct {
	job   Job
	alone bool
	spent bool
}

func (b *batch) claim(run string, c claim, to *[]claimed) {
	queues, rooms := make([]string, len(c.rooms)), make([]int, len(c.rooms))
	leases, since, after := make([]int64, len(c.rooms)), make([]pgtype.Timestamptz, len(c.rooms)), make([]int64, len(c.rooms))
	for i, r := range c.rooms {
		queues[i], rooms[i], leases[i] = r.queue, r.jobs, r.lease.Microseconds()
		since[i], after[i] = pgtype.Timestamptz{Time: r.since.runAt, Valid: true}, r.since.id
		if r.since.runAt.IsZero() {
			since[i].InfinityModifier, after[i] = pgtype.NegativeInfinity, math.MinInt64
		}
	}
	skip := append([]int64{}, c.skip...)
	if c.alone != onlyAlone {
		b.queue(claimStatement, pgx.StrictNamedArgs{
			"queues": queues, "rooms": rooms, "leases": leases, "since": since, "after": after, "most": c.most,
			"bytes": int64(maxPayloads), "large": c.large, "run": run, "skip": skip, "only": c.only,
		}).Query(func(rows pgx.Rows) error { return readClaimed(rows, run, false, to) })
	}
	if c.alone != noneAlone {
		b.queue(claimAloneStatement, pgx.StrictNamedArgs{
			"queues": queues, "leases": leases, "run": run, "skip": skip, "only": c.only,
		}).Query(func(rows pgx.Rows) error { return readClaimed(rows, run, true, to) })
	}
}

func (b *batch) aloneDue(c claim, to *bool) {
	b.queue(aloneDueStatement, pgx.StrictNamedArgs{"queues": c.queues(), "skip": append([]int64{}, c.skip...)}).
		QueryRow(func(row pgx.Row) error { return row.Scan(to) })
}

func (c claim) queues() (names []string) {
	for _, r := range c.rooms {
		names = append(names, r.queue)
	}
	return names
}

func readClaimed(rows pgx.Rows, run string, alone bool, to *[]claimed) error {
	for rows.Next() {
		var runAt pgtype.Timestamptz
		var lastError *string
		var status string
		c := claimed{job: Job{Run: run}, alone: alone}
		j := &c.job
		err := rows.Scan(&j.ID, &j.Queue, (*[]byte)(&j.Payload), &runAt, &j.Attempt, &j.MaxAttempts, &j.lost, &lastError, &status)
		if err != nil {
			return err
		}
		j.RunAt = runAt.Time // zero for -infinity
		if lastError != nil {
			j.LastError = *lastError
		}
		c.spent = status != "running"
		*to = append(*to, c)
	}
	return rows.Err()
}
