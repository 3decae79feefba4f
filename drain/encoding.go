package drain

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A database of another encoding than UTF8 refuses what has a character that it lacks, and the whole exchange with it.
// Which those are only the server knows. What a run writes is then spelled in ASCII, so that the verdict gets through; a
// queue of a name that cannot be there is left out.

func (s *session) do(ctx context.Context, req request) (response, error) {
	resp, err := s.once(ctx, req.without(s.lacks))
	if isUnencodable(err) && req.spell() {
		resp, err = s.once(ctx, req.without(s.lacks))
	}
	if isUnencodable(err) && s.lackNames(ctx) {
		resp, err = s.once(ctx, req.without(s.lacks))
	}
	return resp, err
}

// isUnencodable knows a text that the database's encoding lacks a character for.
func isUnencodable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "22P05" || pg.Code == "22021") // untranslatable_character, character_not_in_repertoire
}

// spell spells all that a request writes in ASCII, and says whether anything in it was not.
func (r *request) spell() (changed bool) {
	in := func(text *string) {
		if spelled := inASCII(*text); spelled != *text {
			*text, changed = storable(spelled), true
		}
	}
	r.settles = slices.Clone(r.settles)
	for i, t := range r.settles {
		c := *t
		in(&c.settlement.text)
		r.settles[i] = &c
	}
	if r.record != nil {
		c := *r.record
		for _, text := range []*string{&c.report.Error, &c.report.Vacuum, &c.host, &c.version} {
			in(text)
		}
		r.record = &c
	}
	return changed
}

// inASCII spells a character that is not ASCII as strconv.Quote does, and one that replaced another as a question mark.
func inASCII(text string) string {
	if !strings.ContainsFunc(text, notASCII) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r == utf8.RuneError:
			b.WriteByte('?')
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

func notASCII(r rune) bool { return r >= utf8.RuneSelf }

const textStatement statement = `select @text::text`

// lackNames finds, once a run, the queues of whose names the database's encoding lacks a character, and says whether it
// found any.
func (s *session) lackNames(ctx context.Context) bool {
	if s.lacks != nil {
		return false
	}
	lacks := map[string]bool{}
	for _, q := range s.config.Queues {
		if !strings.ContainsFunc(q.Name, notASCII) {
			continue
		}
		err := s.query(ctx, textStatement, pgx.StrictNamedArgs{"text": q.Name}, nil)
		switch {
		case isUnencodable(err):
			lacks[q.Name] = true
			s.config.Log.Warn("no job can be in the queue: the database's encoding has not all characters of its name", "queue", q.Name, "error", brief(err))
		case err != nil:
			return false // asked again with the next exchange
		}
	}
	s.lacks = lacks
	return len(lacks) > 0
}

// without is a request that does not ask for queues of these names.
func (r request) without(names map[string]bool) request {
	if len(names) == 0 {
		return r
	}
	known := func(queues []string) []string {
		return slices.DeleteFunc(slices.Clone(queues), func(name string) bool { return names[name] })
	}
	of := func(c *claim) *claim {
		if c == nil {
			return nil
		}
		less := *c
		less.rooms = slices.DeleteFunc(slices.Clone(c.rooms), func(r room) bool { return names[r.queue] })
		return &less
	}
	r.claim, r.suspects = of(r.claim), of(r.suspects)
	r.linger = known(r.linger)
	if r.record != nil {
		c := *r.record
		c.queues = known(c.queues)
		r.record = &c
	}
	return r
}
