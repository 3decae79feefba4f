package drain

import (
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed next.sql
var nextStatement statement

// lingerFor are the queues of which a claim asks when their next job falls due, for a run that may still wait for it.
func (s *state) lingerFor(c *claim) (queues []string) {
	if c != nil && c.alone == elseAlone && s.lingered < s.config.Linger {
		queues = c.queues()
	}
	return queues
}

// linger begins the wait for the next job, where that is within what is left to wait.
func (s *state) linger(next *time.Duration, now time.Time) {
	if next != nil && s.lingered+*next <= s.config.Linger {
		s.lingered += *next
		s.lingerTo = now.Add(*next)
	}
}

// next asks how long it takes until a job falls due.
func (b *batch) next(queues []string, to **time.Duration) {
	b.queue(nextStatement, pgx.StrictNamedArgs{"queues": queues}).QueryRow(func(row pgx.Row) error {
		var micros *int64
		err := row.Scan(&micros)
		if micros != nil {
			d := time.Duration(*micros) * time.Microsecond
			*to = &d
		}
		return err
	})
}
