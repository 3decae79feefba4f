package local

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

// sampleEvery is how often a compute is looked at, as Neon does it.
const sampleEvery = 500 * time.Millisecond

//go:embed activity.sql
var activityStatement string

// watch looks at the server until it pauses, ends by itself or is stopped.
func (c *Compute) watch() {
	m := &monitor{url: c.server.URL()}
	defer m.close()
	process := c.server.process
	if first, err := m.look(c.life); err == nil {
		m.before = &first // what was counted before a pause is nothing new
	}
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-process.ended:
			c.ended(process.stop())
			return
		case <-tick.C:
		}
		began := time.Now()
		now, err := m.look(c.life)
		last := began // what cannot be seen is not paused
		if err == nil {
			last = c.opt.Family.lastActivity(m.before, now, began)
			m.before = &now
		}
		c.mu.Lock()
		if last.After(c.active) {
			c.active = last
		}
		idle := time.Since(c.active) >= c.opt.IdleTimeout
		c.mu.Unlock()
		if idle {
			m.close()
			if c.pause() {
				return
			}
		}
	}
}

// A monitor is a session that looks at the others.
type monitor struct {
	url    string
	conn   *pgx.Conn
	before *sample // nil: nothing was seen yet
}

// look takes a sample, through a connection that is opened where there is none.
func (m *monitor) look(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if m.conn == nil || m.conn.IsClosed() {
		conn, err := pgx.Connect(ctx, m.url+"&application_name=monitor")
		if err != nil {
			return sample{}, err
		}
		m.conn = conn
	}
	rows, _ := m.conn.Query(ctx, activityStatement)
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[sample])
}

func (m *monitor) close() {
	if m.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		m.conn.Close(ctx)
	}
}
