package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sethvargo/go-retry"
)

// Connect opens a connection with patience: what passes by itself (refused, reset, starting up, silent, no name yet,
// too many connections) is tried again for as long as timeout says, anything else is final at once. The error is the
// last real one, in one line, without anything of the URL that could be secret; [ErrRefused] is in its chain where the
// role's settings have to be changed first.
//
// The connection works behind every pooler: each statement is one round trip, and nothing is prepared under a name.
func Connect(ctx context.Context, database func() (*pgx.ConnConfig, error), timeout time.Duration, log *slog.Logger) (*pgx.Conn, error) {
	return connect(ctx, database, timeout, log, nil)
}

// connect is Connect, for the first connection of a run where refused is nil, and for one more where it is not.
func connect(ctx context.Context, database func() (*pgx.ConnConfig, error), timeout time.Duration, log *slog.Logger, refused *refusals) (*pgx.Conn, error) {
	began := time.Now()
	patience, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var conn *pgx.Conn
	tries := 0
	err := again(patience, timeout, func(context.Context) error {
		config, err := database()
		if final := refused.stays(config, err); final != nil {
			return final
		}
		tries++
		if err == nil {
			conn, err = connectOnce(patience, config, tries)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return err
		case passes(err), refused.isReadOnly(err):
			log.Info("database not ready, trying again", "try", tries, "error", brief(err))
			return retry.RetryableError(err)
		case refused.another(config, err):
			log.Warn("the database refuses what it took before, trying again", "try", tries, "error", brief(err))
			refused.wait(patience)
			return retry.RetryableError(err)
		}
		return err
	})
	switch {
	case err == nil:
		refused.reset()
		return conn, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("stopped while connecting to the database: %w", context.Cause(ctx))
	case errors.Is(err, ErrRefused):
		return nil, err
	case patience.Err() != nil || passes(err):
		text := brief(err)
		if isTimeout(err) {
			text = "it does not answer"
		}
		return nil, reworded{fmt.Sprintf("database out of reach for %v: %s%s; see DATABASE_URL, or raise EBB_CONNECT_TIMEOUT",
			time.Since(began).Round(time.Second), text, hint(err)), err}
	}
	return nil, reworded{"cannot connect to the database: " + brief(err) + hint(err), err}
}

// passes says whether a connect that failed may succeed later. There is no row yet whose fault it could be.
func passes(err error) bool {
	t := diagnoseTrouble(err)
	return t != permanent && t != rowTrouble
}

// reworded gives an error a text of its own and keeps it in the chain.
type reworded struct {
	text string
	err  error
}

func (t reworded) Error() string { return t.text }
func (t reworded) Unwrap() error { return t.err }

func connectOnce(ctx context.Context, config *pgx.ConnConfig, try int) (*pgx.Conn, error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "ebb"
	}
	if config.ConnectTimeout == 0 {
		// Short at first, since what accepts and says nothing may have been replaced by the next try; longer then, since
		// a slow resume may hold every connection until it is through.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(min(try, 4))*5*time.Second)
		defer cancel()
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, withoutSecrets(err, config)
	}
	if err := speaks(conn); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// speaks refuses a session whose texts would come out wrong: Postgres said at the beginning how it writes them.
func speaks(conn *pgx.Conn) error {
	said := conn.PgConn().ParameterStatus
	switch client, server := said("client_encoding"), said("server_encoding"); {
	case client == "", strings.EqualFold(strings.ReplaceAll(client, "-", ""), "UTF8"): // a pooler may have a spelling of its own
	case client == "SQL_ASCII" && (server == "UTF8" || server == "SQL_ASCII"): // bytes pass as they are
	default:
		return refuse("the session's client_encoding is %s; set the role's to UTF8, or add client_encoding=UTF8 to DATABASE_URL", client)
	}
	if style := said("DateStyle"); style != "" && !strings.HasPrefix(style, "ISO") {
		return refuse("the session's DateStyle is %s; set the role's to ISO, or add datestyle=ISO to DATABASE_URL", style)
	}
	return nil
}
