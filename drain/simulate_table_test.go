package drain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A simTable is the model of the table: what the statements do to it, each request in one transaction.
type simTable struct {
	rows    map[int64]*simRow
	commit  func(simChange) // sees every change that was committed
	changes []simChange     // of the transaction so far
}

// A simRow is a job as the statements know it.
type simRow struct {
	id          int64
	queue       string
	size        int
	status      string
	runAt       time.Time
	attempts    int
	max         int
	lost        int
	lockedUntil time.Time // zero: null
	lockedBy    string
	reapedBy    string // the run that last_error names as the one that took the row back
	spentBy     string // or failed it because its attempts were spent

	refuses    string    // the change that a trigger refuses
	suppresses string    // or takes back
	heldTo     time.Time // locked by a hand until then
}

// A simChange is one row's change.
type simChange struct {
	kind          string
	run           string
	before, after simRow
	settlement    *settlement
}

// simNow is the database's clock, which counts in microseconds.
func simNow() time.Time { return time.Now().Truncate(time.Microsecond) }

func (r *simRow) isFree() bool { return !time.Now().Before(r.heldTo) }

func (r *simRow) isExpired(now time.Time) bool {
	return r.status == "running" && (r.lockedUntil.IsZero() || !r.lockedUntil.After(now))
}

func (r *simRow) runsAlone() bool { return r.lost >= 2 || r.lost >= 1 && r.attempts+1 >= r.max }

func (r *simRow) place() place { return place{r.runAt, r.id} }

// sorted are all rows in the order of their ids.
func (t *simTable) sorted() []*simRow {
	return slices.SortedFunc(maps.Values(t.rows), func(a, b *simRow) int { return cmp.Compare(a.id, b.id) })
}

// due are the free rows of a queue that may be claimed, in their order.
func (t *simTable) due(now time.Time, queue string, skip []int64) (due []*simRow) {
	for _, r := range t.rows {
		if r.status == "queued" && r.queue == queue && !r.runAt.After(now) && !slices.Contains(skip, r.id) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *simRow) int { return cmp.Or(a.runAt.Compare(b.runAt), cmp.Compare(a.id, b.id)) })
	return due
}

// change changes a row, unless a trigger has something against it.
func (t *simTable) change(r *simRow, kind, run string, how func(*simRow)) (bool, error) {
	before, after := *r, *r
	how(&after)
	switch what := simWhat(&before, &after); {
	case r.refuses == what:
		return false, &pgconn.PgError{Code: "P0001", Message: "refused", Where: "PL/pgSQL function refuse() line 1 at RAISE"}
	case r.suppresses == what:
		return false, nil
	}
	*r = after
	t.changes = append(t.changes, simChange{kind: kind, run: run, before: before, after: after})
	return true, nil
}

// simWhat is what a trigger sees of a change.
func simWhat(before, after *simRow) string {
	switch {
	case before.status == "queued":
		return "claim"
	case after.status == "running":
		return "extend"
	}
	return "settle"
}

// execute does all that a request asks for, or nothing.
func (t *simTable) execute(req request) (resp response, err error) {
	t.changes = nil
	if err := t.ask(req, &resp); err != nil {
		for _, c := range slices.Backward(t.changes) {
			*t.rows[c.before.id] = c.before
		}
		return response{}, err
	}
	for _, c := range t.changes {
		t.commit(c)
	}
	return resp, nil
}

func (t *simTable) ask(req request, resp *response) error {
	steps := []func(request, *response) error{t.orphans, t.settle, t.extend, t.reap, t.claim, t.claimAlone}
	for _, step := range steps {
		if err := step(req, resp); err != nil {
			return err
		}
	}
	now := simNow()
	if c := req.claim; c != nil && c.seek {
		for _, q := range c.queues() {
			resp.aloneDue = resp.aloneDue || slices.ContainsFunc(t.due(now, q, c.skip), func(r *simRow) bool { return r.attempts < r.max && r.runsAlone() })
		}
	}
	if req.read != nil {
		if r := t.rows[req.read.job.ID]; r != nil && r.mine(req.run, req.read.job.Attempt) {
			resp.payload = simPayload(r.size)
		}
	}
	if req.suspects != nil {
		resp.suspects = t.suspects(*req.suspects)
	}
	if len(req.lookup) > 0 {
		resp.rows = map[int64]row{}
		for _, id := range req.lookup {
			if r := t.rows[id]; r != nil {
				resp.rows[id] = row{r.status, r.attempts, r.lockedBy, r.lost}
			}
		}
	}
	if req.recount {
		for _, r := range t.sorted() {
			if r.reapedBy == req.run || r.spentBy == req.run {
				status := "queued"
				if r.status == "failed" {
					status = "failed"
				}
				resp.reaped = append(resp.reaped, reaped{id: r.id, queue: r.queue, status: status})
			}
		}
	}
	if len(req.linger) > 0 {
		resp.next = t.next(now, req.linger)
	}
	if req.record != nil {
		resp.left = t.record(now, *req.record)
	}
	return nil
}

// hand is what an operator does to a job.
func (t *simTable) hand(what string, id int64) {
	r := t.rows[id]
	before := *r
	switch {
	case what == "cancel" && (r.status == "queued" || r.status == "running"):
		r.status, r.lockedUntil, r.reapedBy, r.spentBy = "failed", time.Time{}, "", ""
	case what == "retry" && r.status == "failed":
		r.status, r.attempts, r.lost, r.runAt = "queued", 0, 0, simNow()
	default:
		return
	}
	t.commit(simChange{kind: what, before: before, after: *r})
}

// print is the table as it stands, but for times.
func (t *simTable) print() (lines []string) {
	for _, r := range t.sorted() {
		lines = append(lines, fmt.Sprintf("%d %s %s attempts %d of %d, lost %d, %s", r.id, r.queue, r.status, r.attempts, r.max, r.lost, r.lockedBy))
	}
	return lines
}

var simPayloads = make([]byte, maxPayloads+1000)

// simPayload is a payload of a size, which costs nothing.
func simPayload(size int) []byte { return simPayloads[:size:size] }
