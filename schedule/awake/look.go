// Package awake says who keeps a database awake: one look at its sessions, and what they mean to a compute that pauses.
//
//	s, err := awake.Look(ctx, conn) // one exchange; close the connection then
//	v := s.Verdict(compute)
//
// Looking is activity too: it wakes a compute that was paused, and restarts the idle timeout of one that was not.
package awake

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed look.sql
var lookStatement string

//go:embed path.sql
var pathStatement string

// A Snapshot is what there is at one moment, by the database's clock. The session that looked is not in it.
type Snapshot struct {
	At       time.Time `json:"at"`
	Start    time.Time `json:"start"` // of the server: where a pause ends it, it is awake since then
	Role     string    `json:"role"`
	Database string    `json:"database"`
	// SeesAll says whether the role has pg_read_all_stats. Without it sessions of others are hidden.
	SeesAll       bool       `json:"sees_all"`
	Cron          bool       `json:"cron"`          // pg_cron is there
	Subscriptions []string   `json:"subscriptions"` // that this server receives
	Sessions      []Session  `json:"sessions"`
	Databases     []Database `json:"databases"`

	// Took is how long the look took, by this machine's clock.
	Took time.Duration `json:"-"`
	// Waited is how long the caller waited for the answer, the connect included: a server that started since was woken
	// by it. Zero where the caller does not say.
	Waited time.Duration `json:"-"`
	// Before is an earlier snapshot to compare with, which shows who comes and goes; its connection was another one.
	Before *Snapshot `json:"-"`
}

// A Session is one of a client, a WAL sender or an autovacuum worker.
type Session struct {
	PID         int        `json:"pid"`
	Type        *string    `json:"type"` // nil: hidden from this role, like the three below
	Application string     `json:"application"`
	User        string     `json:"user"`
	Address     string     `json:"address"` // "local" for a socket of the server's machine
	Database    string     `json:"database"`
	State       *string    `json:"state"`
	Began       *time.Time `json:"began"`
	Changed     *time.Time `json:"changed"` // its state, the last time
	Listens     bool       `json:"listens"` // its last statement was a LISTEN
}

// A Database is what the server counted for it since it keeps count.
type Database struct {
	Name     string  `json:"name"`
	Opened   int64   `json:"opened"` // sessions
	ActiveMS float64 `json:"active_ms"`
}

// Look takes a snapshot in one exchange.
func Look(ctx context.Context, conn *pgx.Conn) (Snapshot, error) {
	began := time.Now()
	var text string
	var b pgx.Batch
	b.Queue(`select pg_catalog.set_config('lock_timeout', '3s', true), pg_catalog.set_config('statement_timeout', '30s', true)`)
	b.Queue(pathStatement).QueryRow(trusted)
	b.Queue(lookStatement).QueryRow(func(row pgx.Row) error { return row.Scan(&text) })
	if err := conn.SendBatch(ctx, &b).Close(); err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Took: time.Since(began)}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Snapshot{}, fmt.Errorf("read the server's sessions: %w", err)
	}
	return s, nil
}

// trusted reads the answer to path.sql.
func trusted(row pgx.Row) error {
	err := row.Scan(nil)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "22012" { // division_by_zero
		return errors.New("others may create functions in a schema that the search_path names before pg_catalog, and they would be called in place of Postgres' own; leave pg_catalog out of it, so that it comes first: ALTER ROLE ... SET search_path = public, for example")
	}
	return err
}
