package drain

import (
	"crypto/x509"
	"errors"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Explained gives an error of the database the text in which a run tells it: with what the server said in detail, where
// that shows nothing of a row, and with what to do about it. The error stays in the chain. Other errors are as they were.
func Explained(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || errors.As(err, new(reworded)) {
		return err
	}
	text := brief(err)
	if strings.HasSuffix(err.Error(), "(SQLSTATE "+pg.Code+")") { // else somebody who knows more has said what to do
		text += hint(err)
	}
	return reworded{text, err}
}

// hint says what to do about errors that users meet first.
func hint(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return hintOf(pg)
	case errors.Is(err, pgconn.ErrReadOnlyConnection), errors.Is(err, pgconn.ErrStandbyConnection):
		return "; no server that DATABASE_URL names takes writes"
	case errors.Is(err, syscall.EMFILE):
		return "; ebb may open no more files: raise ulimit -n (LimitNOFILE= in a systemd unit), or lower EBB_CONCURRENCY"
	case errors.Is(err, syscall.ENFILE):
		return "; this machine has no more open files: raise fs.file-max"
	case isTLS(errors.New(brief(err))): // and not a try before the one that counts
		return hintOfTLS(err)
	}
	return ""
}

func hintOf(pg *pgconn.PgError) string {
	if isUnsupported(pg) {
		return "; take that parameter out of DATABASE_URL, or have the pooler pass it (ignore_startup_parameters)"
	}
	if pg.Where != "" {
		return "" // what a trigger of the user's has said is not about ebb's own tables and rights
	}
	switch pg.Code {
	case "28P01":
		return "; check user and password in DATABASE_URL"
	case "28000":
		switch {
		case strings.Contains(pg.Message, "client certificate"):
			return "; set sslcert and sslkey in DATABASE_URL to a certificate that the server trusts"
		case strings.Contains(pg.Message, "no encryption"):
			return "; the server wants TLS: set sslmode=verify-full in DATABASE_URL, and sslrootcert where its CA is a private one"
		case strings.Contains(pg.Message, "pg_hba.conf"):
			return "; let this user and address in there, or check the user in DATABASE_URL"
		}
		return "; check user and password in DATABASE_URL"
	case "3D000":
		return "; check the database's name in DATABASE_URL, or create it"
	case "53300":
		return "; raise the role's or the server's connection limit, or close what holds the connections"
	case "42501":
		return "; grant that to the role: the README lists what it needs"
	case "42P01", "42703", "3F000": // at its start a run says of the schema what is wrong with it
		return "; ebb's tables were changed: run ebb migrate, then ebb again"
	case "25006":
		return "; DATABASE_URL leads to a server, or a session (default_transaction_read_only), that takes no writes"
	case "42704":
		return "; take that parameter out of DATABASE_URL"
	}
	return ""
}

// hintOfTLS never says to ask for less than was asked for, but for where there is no TLS at all.
func hintOfTLS(err error) string {
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "; set sslrootcert in DATABASE_URL to the file with the CA's certificate, or add that to the CA certificates of this machine"
	case errors.As(err, new(x509.HostnameError)):
		return "; connect by a name that is in the server's certificate"
	case isExpired(err):
		return "; renew the server's certificate, or set the clock of this machine"
	case strings.Contains(err.Error(), "remote error: tls:"):
		return "; the server refused the client's certificate, or TLS as it was offered: see sslcert and sslkey in DATABASE_URL"
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return "; turn TLS on in the server, or, where nobody else can read what passes, set sslmode=disable"
	}
	return "; see sslmode and sslrootcert in DATABASE_URL"
}

func isExpired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}
