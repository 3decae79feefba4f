package drain

import (
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed settle.sql
var settleStatement statement

func (b *batch) settle(run string, settles []settlement, to *map[int64]outcome) {
	n := len(settles)
	ids, attempts, given, lost := make([]int64, n), make([]int, n), make([]int, n), make([]int, n)
	statuses, delays, texts := make([]string, n), make([]*int64, n), make([]*string, n)
	outcomes := make(map[int64]outcome, n)
	for i, s := range settles {
		ids[i], attempts[i], statuses[i] = s.id, s.attempt, s.status
		given[i], lost[i] = s.given(), s.adds()
		if s.delay >= 0 {
			micros := s.delay.Microseconds()
			delays[i] = &micros
		}
		if s.text != "" {
			texts[i] = &s.text
		}
		outcomes[s.id] = s.counts
	}
	b.queue(settleStatement, pgx.StrictNamedArgs{
		"run": run, "ids": ids, "attempts": attempts, "statuses": statuses, "given_back": given, "lost": lost,
		"delays": delays, "texts": texts,
	}).Query(func(rows pgx.Rows) error {
		*to = make(map[int64]outcome, n)
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			(*to)[id] = outcomes[id]
		}
		return rows.Err()
	})
}

// became says what a settlement came to that the exchange did not confirm, by how the row stands now: written after all
// by a try whose answer was lost, completed in the handler's own transaction, or no longer this run's to settle.
func (s settlement) became(r row, run string) outcome {
	ours := r.lockedBy == run && r.status != "running"
	switch {
	case r.lockedBy == run && r.status == "running" && r.attempts == s.attempt:
		return stuck
	case ours && r.status == "done" && r.attempts == s.attempt:
		return completed
	case ours && r.status == s.status && r.attempts == s.attempt-s.given() && r.lost == s.lost+s.adds():
		return s.counts
	}
	return lost
}

func (s settlement) given() int { return count(s.giveBack) }
func (s settlement) adds() int  { return count(s.addLost) }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
