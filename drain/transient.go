package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sethvargo/go-retry"
)

// A trouble is what kind of error the database or the way to it gave, as far as it decides what to do next.
type trouble int

const (
	// none is no error at all.
	none trouble = iota
	// permanent errors stay until somebody mends something: a password, a right, a missing table.
	permanent
	// passing errors leave the connection usable and the exchange undone: deadlock, serialization, a lock not got.
	passing
	// strained is passing too, but doing the exchange row by row would help nobody: the server is out of something.
	strained
	// cut means that the connection is gone or was never there, and that whether the exchange was done is not known.
	cut
	// rowTrouble is an error that a row's own content caused, so that the same exchange would fail again.
	rowTrouble
)

// diagnoseTrouble tells them apart, by SQLSTATE where the server spoke, by behaviour otherwise.
func diagnoseTrouble(err error) trouble {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return none
	case errors.As(err, new(cutOff)):
		return cut
	case errors.As(err, new(hasty)):
		return strained
	case errors.As(err, &pg):
		return troubleOf(pg)
	}
	var dns *net.DNSError
	var netErr net.Error
	switch {
	case errors.As(err, &dns): // a resuming compute's name may not resolve yet
		return cut
	case isTLS(err), errors.As(err, new(*pgconn.ParseConfigError)):
		return permanent
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		strings.Contains(err.Error(), "conn closed"):
		return cut
	}
	return permanent
}

// cutOff marks an error after which a new connection may do better.
type cutOff struct{ error }

func (c cutOff) Unwrap() error { return c.error }

// hasty marks an exchange that the session's statement_timeout ended before its own was set: no row's fault.
type hasty struct{ error }

func (h hasty) Unwrap() error { return h.error }

func troubleOf(pg *pgconn.PgError) trouble {
	class := pg.Code[:min(2, len(pg.Code))]
	switch {
	case pg.Code == "40001", pg.Code == "40P01", pg.Code == "55P03":
		return passing
	case pg.Code == "57014": // statement_timeout: a row that is too much for it, or a hand
		return rowTrouble
	case isUnsupported(pg):
		return permanent
	case class == "08", class == "57", pg.Code == "53300", pg.Code == "25006":
		return cut
	case pg.Code == "25P03", pg.Code == "25P04": // the session was ended for its time in a transaction
		return cut
	case class == "53": // out of memory, disk or locks: no row's fault
		return strained
	case pg.Code == "XX000" && isWaking(pg.Message):
		return cut
	case class == "22", class == "23", class == "54", class == "P0", class == "38", class == "39", class == "27", class == "44":
		return rowTrouble
	case pg.Where != "": // raised inside of a function, so by a trigger of the user's: a table that it misses is not ebb's
		return rowTrouble
	}
	return permanent
}

// isUnsupported knows the one answer of PgBouncer that stays, among all those that it gives under 08P01.
func isUnsupported(pg *pgconn.PgError) bool {
	return pg.Code == "08P01" && strings.HasPrefix(pg.Message, "unsupported startup parameter")
}

// isWaking knows the texts that Neon's proxy and the like give under XX000 while a compute resumes. An exhausted quota
// does not pass by itself.
func isWaking(message string) bool {
	if strings.Contains(strings.ToLower(message), "quota") {
		return false
	}
	return slices.ContainsFunc([]string{
		"Couldn't connect to compute node", "Control plane request failed", "endpoint is temporarily unavailable",
		"resuming", "waking up",
	}, func(text string) bool { return strings.Contains(message, text) })
}

// isTLS finds what a handshake refused: it would refuse it again.
func isTLS(err error) bool {
	text := err.Error()
	return strings.Contains(text, "tls: ") || strings.Contains(text, "x509: ") ||
		strings.Contains(text, "server refused TLS connection")
}

// again does f until it succeeds, fails for good, ctx ends or patience ran out, waiting a little longer each time. f
// marks what may be tried again with retry.RetryableError. What comes back is f's last error that says more than that
// time ran out, not the error of the clock or of the context.
func again(ctx context.Context, patience time.Duration, f func(ctx context.Context) error) error {
	return againWith(ctx, jitter, patience, f)
}

// jitter is by how many percent the waits between two tries vary, so that runs that failed together do not try together.
const jitter = 20

func againWith(ctx context.Context, jitter uint64, patience time.Duration, f func(ctx context.Context) error) error {
	waits := retry.WithMaxDuration(patience, retry.WithCappedDuration(2*time.Second,
		retry.WithJitterPercent(jitter, retry.NewExponential(100*time.Millisecond))))
	var last error
	err := retry.Do(ctx, waits, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && (last == nil || !isTimeout(err)) {
			last = err
		}
		return err
	})
	if err == nil || last == nil {
		return err
	}
	if strings.HasPrefix(last.Error(), "retryable: ") { // go-retry's mark, which would only be in the way
		last = errors.Unwrap(last)
	}
	return last
}

func isTimeout(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err)
}

// brief is a database error in one line, without what pgx puts before it: the user, host and database of the URL, where
// pieces of a secret land when it is written wrong.
func brief(err error) string {
	if said := (reworded{}); errors.As(err, &said) {
		return said.text
	}
	if from := (discreet{}); errors.As(err, &from) {
		return from.secrets.Redact(brief(from.error))
	}
	if errors.As(err, new(*pgconn.ParseConfigError)) {
		return "it is not a connection URL that can be read; example: postgres://user:password@host:5432/database"
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && connect.Unwrap() != nil {
		err = connect.Unwrap()
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && err == error(pg) { // without the severity, which pgx puts first
		return fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code) + details(pg)
	}
	var lines []string
	text := strings.ReplaceAll(err.Error(), ": %!w(<nil>)", "") // pgx's, where a server speaks too old a protocol
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		said := func(before string) bool { return before == line || strings.HasSuffix(before, ": "+line) }
		if line != "" && !slices.ContainsFunc(lines, said) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 1 { // sslmode=prefer tried TLS first, and then had the answer that counts
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "server refused TLS connection") })
	}
	text = strings.Join(lines, "; ")
	if pg != nil {
		text += details(pg)
	}
	return text
}

// told are the classes of errors whose details are of the database and its settings. Those of others may show a row, and
// with it a payload.
var told = []string{"0A", "25", "28", "2B", "3D", "42", "53", "54", "55", "57", "58"}

// guessed are those that say only which other name the server thinks was meant in one of our statements.
var guessed = []string{"42703", "42P01", "42883"}

// details are what the server adds to an error, where that says nothing of a row. What a function says, of a trigger or of
// a check, may be anything.
func details(pg *pgconn.PgError) (text string) {
	if pg.Where != "" || !slices.Contains(told, pg.Code[:min(2, len(pg.Code))]) || slices.Contains(guessed, pg.Code) {
		return ""
	}
	for _, part := range [][2]string{{"DETAIL", pg.Detail}, {"HINT", pg.Hint}} {
		if part[1] != "" {
			said := strings.TrimSuffix(strings.Join(strings.Fields(part[1]), " "), ".")
			text += "; " + part[0] + ": " + firstBytes(clean(said), mostDetail)
		}
	}
	return text
}

// mostDetail is how many bytes are shown of each.
const mostDetail = 500
