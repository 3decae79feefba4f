package cli

import (
	"crypto/tls"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// An encryption is how safe the way to the database is, as this side of the session sees it. Behind a pooler it is the
// way to the pooler.
type encryption string

const (
	atHand      encryption = "local"       // a socket on this machine
	plain       encryption = "none"        // anybody on the way can read and change what passes
	unverified  encryption = "unverified"  // encrypted, but it may be with somebody else
	verifiedCA  encryption = "verified-ca" // with somebody whose certificate the CA signed
	verifiedAll encryption = "verified"    // with the host that was asked for
)

func encryptionOf(conn *pgx.Conn) encryption {
	config, way := conn.Config(), conn.PgConn().Conn()
	secured, is := way.(*tls.Conn)
	switch {
	case !is && way.RemoteAddr().Network() == "unix":
		return atHand
	case !is:
		return plain
	case len(secured.ConnectionState().VerifiedChains) > 0:
		return verifiedAll
	case checksCA(config.TLSConfig) || slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return checksCA(f.TLSConfig) }):
		return verifiedCA
	}
	return unverified
}

// checksCA says whether pgx checks the certificate by itself, without the name in it.
func checksCA(c *tls.Config) bool { return c != nil && c.VerifyPeerCertificate != nil }

func (e encryption) String() string {
	return map[encryption]string{
		atHand:      "a socket on this machine",
		plain:       "not encrypted; sslmode=verify-full in DATABASE_URL asks for that",
		unverified:  "encrypted, but whose server it is was not verified; sslmode=verify-full in DATABASE_URL asks for that",
		verifiedCA:  "encrypted, the server's certificate verified but not its name; sslmode=verify-full in DATABASE_URL asks for that",
		verifiedAll: "encrypted, the server's certificate and name verified",
	}[e]
}
