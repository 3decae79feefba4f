package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// mostRefusals is how often a run that was let in before asks again with what is refused now. A password is changed on
// the server and in its file at different moments, a pg_hba.conf or a certificate may be wrong for one; but asking for
// ever can lock the role.
const mostRefusals = 4

// refusals are the answers that stay as they are until somebody mends something, in a run that worked before. The nil
// one is that of a run which did not: the first refusal is final.
type refusals struct {
	n    int
	with string // what it was tried with: a change of it is worth tries of its own
	err  error
}

// stays gives the error that is final already, so that the server is not asked again; or nil.
func (r *refusals) stays(config *pgx.ConnConfig, read error) error {
	if r == nil || r.n < mostRefusals || r.with != triedWith(config, read) {
		return nil
	}
	return r.err
}

// another takes in one more refusal, and says whether to ask again.
func (r *refusals) another(config *pgx.ConnConfig, err error) bool {
	if r == nil {
		return false
	}
	if with := triedWith(config, err); r.with != with {
		r.n, r.with = 0, with
	}
	r.n, r.err = r.n+1, err
	return r.n < mostRefusals
}

// wait lets those who change things get on with it: a second, then twice as long each time.
func (r *refusals) wait(ctx context.Context) {
	select {
	case <-time.After(time.Second << (r.n - 1)):
	case <-ctx.Done():
	}
}

func (r *refusals) reset() {
	if r != nil {
		*r = refusals{}
	}
}

// isReadOnly says whether there was no server that takes writes, as target_session_attrs asks. In the middle of a run
// that is a failover, and passes.
func (r *refusals) isReadOnly(err error) bool {
	return r != nil && (errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection))
}

// triedWith tells one set of credentials from another. It is kept in memory for as long as a run lasts.
func triedWith(config *pgx.ConnConfig, read error) string {
	if config == nil {
		return read.Error()
	}
	with := fmt.Sprintf("%q %d %q %q %q", config.Host, config.Port, config.User, config.Password, config.Database)
	if config.TLSConfig != nil {
		for _, c := range config.TLSConfig.Certificates {
			with += fmt.Sprintf(" %x", c.Certificate)
		}
	}
	for _, f := range config.Fallbacks {
		with += fmt.Sprintf(" %q %d", f.Host, f.Port)
	}
	return with
}
