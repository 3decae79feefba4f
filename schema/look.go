package schema

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed waited.sql
var waited string

const (
	// looksApart is how often it is looked whether a build waits. The first look comes after this time too: most builds
	// are through by then, and need no second connection.
	looksApart = 500 * time.Millisecond
	// blindApart is the most time between looks that show nothing.
	blindApart = 4 * time.Second
	// lookWithin bounds one look, a connect included.
	lookWithin = 5 * time.Second
)

// A watch is a second connection that looks what becomes of a statement on the first.
type watch struct {
	migration
	blind  time.Duration // see blind
	second *pgx.Conn
	said   string // in the log, for whom it waits or why that cannot be seen
}

// look looks again and again until ctx ends, then closes the second connection and looks.
func (w *watch) look(ctx context.Context, looks chan<- look) {
	defer close(looks)
	defer w.close()
	pause := looksApart
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		l, err := w.once(ctx)
		if ctx.Err() != nil {
			return
		}
		w.say(l, err)
		if pause = looksApart; l.sight == nothing {
			pause = blindApart
		}
		select {
		case <-ctx.Done():
			return
		case looks <- l:
		}
	}
}

// once looks once. After an error the next look has a new connection.
func (w *watch) once(ctx context.Context) (look, error) {
	ctx, stop := context.WithTimeout(ctx, lookWithin)
	defer stop()
	var err error
	if w.second == nil {
		if w.second, err = pgx.ConnectConfig(ctx, w.conn.Config()); err != nil {
			w.second = nil
			return look{}, err
		}
	}
	builds, err := ask(ctx, w.second, waited, pgx.Identifier{w.schema}.Sanitize())
	if err != nil {
		w.close()
		return look{}, err
	}
	who := slices.DeleteFunc(slices.Clone(builds), func(s session) bool { return s.Who == "" })
	switch {
	case len(who) > 0:
		return look{waits, inWords(who)}, nil
	case len(builds) > 0:
		return look{sight: atWork}, nil
	}
	return look{}, nil
}

// say logs what is new in a look.
func (w *watch) say(l look, err error) {
	switch {
	case l.sight == waits && l.who != w.said:
		w.said = l.who
		w.log.Info("waiting for transactions of others", "schema", w.schema, "held_by", l.who, "at_most", w.patience.String())
	case err != nil && w.said != unseen:
		w.said = unseen
		w.log.Info("no second connection to see whom the build waits for", "schema", w.schema, "error", answer(err), "at_most", w.blind.String())
	}
}

// answer is what the server said; other errors of a connect tell where the database is.
func answer(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Message
	}
	return "no answer"
}

func (w *watch) close() {
	if w.second != nil {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		w.second.Close(ctx)
		w.second = nil
	}
}
