package drain

import (
	_ "embed"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed claim.sql
var claimStatement statement

// maxPayloads is the most payload, in bytes, that one claim brings; what is larger by itself is claimed alone, and read
// in the exchange after.
const maxPayloads = 16 << 20

// deadEntries is how many jobs a run claims before it remembers how far it got in the index of due jobs. Up to then the
// dead entries that its claims leave there cost less than the one claim more that the memory asks for at the end.
const deadEntries = 5000

// A claim asks for due jobs.
type claim struct {
	most  int
	rooms []room  // in drain order
	skip  []int64 // released by this run, impossible to claim, or in flight: an operator may have queued it again
	only  []int64 // nil: any
	large bool    // a payload over maxPayloads may be claimed
	alone alone
	seek  bool // tell whether a job that has to run alone is due
}

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

// A claimed row is a job in flight, unless its attempts were spent and it was failed instead.
type claimed struct {
	job    Job
	alone  bool
	spent  bool
	unread bool // its payload is too large to come with the claim
}

// claim is the claim that may be made now, or nil: when a slot is free and nothing claimed waits to start in it. What is
// finished is settled in the same exchange, unless somebody has it locked.
func (s *state) claim(now time.Time) *claim {
	waits := func(q *queue) bool {
		return len(q.waiting) > 0 && (q.hasRoom() || slices.ContainsFunc(q.waiting, func(t *task) bool { return t.alone }))
	}
	if s.stop.begun() || s.failed || len(s.running) >= s.slots() || s.runsAlone() || slices.ContainsFunc(s.queues, waits) {
		return nil
	}
	inFlight := s.waiting() + len(s.running) + s.stillLocked(now)
	most := min(s.config.Batch, max(s.config.Batch, s.slots())-inFlight)
	if s.config.MaxJobs > 0 {
		most = min(most, s.config.MaxJobs-s.claims)
	}
	rooms := s.rooms(now)
	kind, ok := s.aloneKind(inFlight == 0)
	if most <= 0 || len(rooms) == 0 || !ok {
		return nil
	}
	if kind == onlyAlone {
		most = 1
	}
	return &claim{most: most, rooms: rooms, alone: kind, seek: s.seeksAlone(now), large: !s.holdsLarge()}
}

// rooms are the queues that a claim may take from now, and how many jobs of each.
func (s *state) rooms(now time.Time) (rooms []room) {
	for _, q := range s.queues {
		n := s.config.Batch
		if q.Concurrency < s.config.Concurrency && len(s.queues) > 1 {
			n = q.Concurrency - q.running - len(q.waiting)
		}
		if q.suspended || n <= 0 || !s.fits(q, now) {
			continue
		}
		r := room{queue: q.Name, jobs: n, lease: s.config.lease(&q.Queue)}
		if s.claims > deadEntries {
			r.since = q.since
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// takeClaimed takes jobs into flight, and learns what the claim says of the queues.
func (w *wake) takeClaimed(asked *claim, resp *response) {
	if asked == nil {
		return
	}
	now := time.Now()
	w.alone.took(asked, resp, now)
	bounded := slices.ContainsFunc(asked.rooms, func(r room) bool { return !r.since.runAt.IsZero() })
	payloads := 0
	for _, c := range resp.claimed {
		q := w.queue(c.job.Queue)
		if c.spent {
			w.takeReaped(reaped{id: c.job.ID, queue: q.Name, status: "failed", text: c.job.LastError})
			continue
		}
		payloads += len(c.job.Payload)
		if at := (place{c.job.RunAt, c.job.ID}); !c.alone && q.since.before(at) {
			q.since = at
		}
		w.claims++
		w.report.Claimed++
		w.add(&task{job: c.job, queue: q, alone: c.alone, unread: c.unread, leased: resp.sent, lease: w.config.lease(&q.Queue)})
	}
	if asked.alone == onlyAlone {
		return
	}
	short := len(resp.claimed) < asked.most
	if short && bounded {
		for _, q := range w.queues {
			q.since = place{} // what came in before that place is not forgotten: the next claim looks from the beginning
		}
		return
	}
	w.short = short && payloads < maxPayloads/2
	w.empty = asked.alone == elseAlone && len(resp.claimed) == 0 && len(resp.skipped) == 0
	if w.empty {
		w.linger(resp.next, now)
	}
}

func (b *batch) claim(run string, c claim, to *response) {
	queues, rooms := make([]string, len(c.rooms)), make([]int, len(c.rooms))
	leases, since, after := make([]int64, len(c.rooms)), make([]pgtype.Timestamptz, len(c.rooms)), make([]int64, len(c.rooms))
	for i, r := range c.rooms {
		queues[i], rooms[i], leases[i] = r.queue, r.jobs, r.lease.Microseconds()
		since[i], after[i] = pgtype.Timestamptz{Time: r.since.runAt, Valid: true}, r.since.id
		if r.since.runAt.IsZero() {
			since[i].InfinityModifier, after[i] = pgtype.NegativeInfinity, math.MinInt64
		}
	}
	b.queue(claimStatement, pgx.StrictNamedArgs{
		"queues": queues, "rooms": rooms, "leases": leases, "since": since, "after": after, "most": c.most,
		"bytes": int64(maxPayloads), "large": c.large, "run": run, "skip": ids(c.skip), "only": c.only,
	}).Query(func(rows pgx.Rows) error { return readClaimed(rows, run, false, to) })
}

func (c claim) queues() (names []string) {
	for _, r := range c.rooms {
		names = append(names, r.queue)
	}
	return names
}

// readClaimed reads what a claim gives. A row without a status was chosen and not changed, which a trigger did.
func readClaimed(rows pgx.Rows, run string, alone bool, to *response) error {
	for rows.Next() {
		var runAt pgtype.Timestamptz
		var lastError *string
		var status string
		c := claimed{job: Job{Run: run}, alone: alone}
		j := &c.job
		if raw := rows.RawValues(); raw[len(raw)-1] == nil {
			if err := rows.Scan(&j.ID, nil, nil, nil, nil, nil, nil, nil, nil); err != nil {
				return err
			}
			to.suppressed = append(to.suppressed, j.ID)
			continue
		}
		err := rows.Scan(&j.ID, &j.Queue, (*[]byte)(&j.Payload), &runAt, &j.Attempt, &j.MaxAttempts, &j.lost, &lastError, &status)
		if err != nil {
			return err
		}
		j.RunAt = runAt.Time // zero for -infinity
		if lastError != nil {
			j.LastError = *lastError
		}
		c.spent, c.unread = status != "running", j.Payload == nil
		to.claimed = append(to.claimed, c)
	}
	return rows.Err()
}

// ids are an array parameter: nil would be null.
func ids(of []int64) []int64 { return append([]int64{}, of...) }
