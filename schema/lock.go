package schema

import (
	"context"
	_ "embed"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// lockKey is the advisory lock that a migration of a schema holds until its transaction ends. The lock belongs to the
// transaction, not to the session, so that it holds through a pooler that hands out sessions per transaction.
func lockKey(schema string) int64 {
	h := fnv.New64a()
	h.Write([]byte("ebb migrate\x00" + schema))
	return int64(h.Sum64())
}

//go:embed holders.sql
var holders string

//go:embed blockers.sql
var blockers string

// whoMigrates names the session that holds the migration's lock.
func (m migration) whoMigrates(ctx context.Context) string {
	return m.sessions(ctx, holders, lockKey(m.schema))
}

// whoBlocks names the sessions that hold locks on tables of the schema, else those that may have created, and not yet
// committed, what the migration creates. It is asked when the transaction that waited for them has been given up, so it
// may name one that is not in the way; the one that is, is the oldest as a rule, and comes first.
func (m migration) whoBlocks(ctx context.Context) string {
	return m.sessions(ctx, blockers, m.schema)
}

//go:embed keepers.sql
var keepers string

// whoKeepsOut names the sessions that keep an index of the schema from being built.
func (m migration) whoKeepsOut(ctx context.Context) string {
	return m.sessions(ctx, keepers, m.schema)
}

// A session is one that is in the way, or a prepared transaction.
type session struct {
	Who, User, App, State, Since, Detail string
}

// sessions says in words which sessions a query found; it is empty where there are none or they cannot be seen.
func (m migration) sessions(ctx context.Context, sql string, arg any) string {
	who, err := ask(ctx, m.conn, sql, arg)
	if err != nil {
		m.log.Debug("who is in the way could not be looked at", "schema", m.schema, "error", err)
		return unseen
	}
	return inWords(who)
}

func ask(ctx context.Context, conn *pgx.Conn, sql string, arg any) ([]session, error) {
	rows, err := conn.Query(ctx, sql, pgx.QueryExecModeExec, arg)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[session])
}

func inWords(who []session) string {
	var words []string
	for _, s := range who {
		w := fmt.Sprintf("%s (user %s, application %q, %s, in a transaction since %s", s.Who, s.User, s.App, s.State, s.Since)
		if s.Detail != "" {
			w += ", " + s.Detail
		}
		words = append(words, w+")")
	}
	return strings.Join(words, ", ")
}
