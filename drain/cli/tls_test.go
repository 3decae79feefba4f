//go:build unix

package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// An authority signs certificates, one file each for the certificate and its key.
type authority struct {
	*testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", x509.Certificate{
		Subject: pkix.Name{CommonName: rand.Text()}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign makes a certificate; the first one signs itself.
func (a *authority) sign(name string, template x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template.SerialNumber, _ = rand.Int(rand.Reader, big.NewInt(1<<62))
	template.NotBefore = time.Now().Add(-2 * time.Hour)
	by, with := a.cert, a.key
	if by == nil {
		by, with = &template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by, &key.PublicKey, with)
	if err != nil {
		a.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			a.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// serve makes the server show a certificate of the authority's, and returns when it does.
func (s *server) serve(a *authority, name string) {
	s.Helper()
	for _, file := range []string{name + ".crt", name + ".key", "ca.crt"} {
		content, err := os.ReadFile(a.file(file))
		if err != nil {
			s.Fatal(err)
		}
		s.write(strings.Replace(file, name, "server", 1), content)
	}
	block, _ := pem.Decode(must(os.ReadFile(a.file(name + ".crt"))))
	do(s.T, s.db, `select pg_reload_conf()`)
	var last error
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		config, err := pgx.ParseConfig(s.as("drainer", "tls-word", "127.0.0.1", "sslmode=require"))
		if err != nil {
			s.Fatal(err)
		}
		same := false
		config.TLSConfig.VerifyPeerCertificate = func(raw [][]byte, _ [][]*x509.Certificate) error {
			same = string(raw[0]) == string(block.Bytes)
			return nil
		}
		conn, err := pgx.ConnectConfig(s.Context(), config)
		if last = err; err == nil {
			conn.Close(s.Context())
		}
		if same {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("the server does not show the certificate: %v", last)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Never less than what was asked for, and one line that says what to set where it cannot be had.
func TestTLS(t *testing.T) {
	t.Parallel()
	s, a, other := newServer(t, nil), newAuthority(t), newAuthority(t)
	a.sign("good", x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)})
	a.sign("good again", x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)})
	a.sign("expired", x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(-time.Hour)})
	client := x509.Certificate{Subject: pkix.Name{CommonName: "certified"}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	a.sign("client", client)
	other.sign("client", client)
	client.NotAfter = time.Now().Add(-time.Hour)
	a.sign("past", client)
	do(t, s.db, `alter role drainer password 'tls-word'`)
	do(t, s.db, `create role certified login password 'tls-word'`)
	do(t, s.db, `grant drainer to certified`)

	type attempt struct {
		user, host, parameters string
		want                   int
		says                   string     // on standard error, where it does not connect
		is                     encryption // where it does
	}
	try := func(attempts ...attempt) {
		t.Helper()
		for _, x := range attempts {
			env := map[string]string{"DATABASE_URL": s.as(x.user, "tls-word", x.host, x.parameters), "HOME": t.TempDir()}
			name := x.user + "@" + x.host + " " + x.parameters
			got := setup{env: env}.ebb("run", "--", "true")
			if got.status != x.want {
				t.Errorf("%s: run: exit %d, want %d: %s%s", name, got.status, x.want, got.stdout, got.stderr)
			}
			if strings.Contains(got.stderr, "again") || strings.Contains(got.stdout+got.stderr, "tls-word") {
				t.Errorf("%s: tried again, or the password shown: %s", name, got.stderr)
			}
			looked := setup{env: env}.ebb("awake", "--json")
			if x.want != 0 {
				if lines := strings.Count(looked.stderr, "\n"); looked.status != x.want || lines != 1 || !strings.Contains(looked.stderr, x.says) {
					t.Errorf("%s: awake: exit %d, want %d, and %q: %s", name, looked.status, x.want, x.says, looked.stderr)
				}
				continue
			}
			var r awakeJSON
			if err := json.Unmarshal([]byte(looked.stdout), &r); err != nil || r.Encryption != x.is {
				t.Errorf("%s: %v, the connection is %q, want %q", name, err, r.Encryption, x.is)
			}
			if strings.Contains(looked.stderr, "TLS") {
				t.Errorf("%s: says %s", name, looked.stderr)
			}
		}
	}
	const off = "server refused TLS connection; turn TLS on in the server"
	root := "&sslrootcert=" + a.file("ca.crt")
	try(
		attempt{"drainer", "localhost", "sslmode=disable", 0, "", plain},
		attempt{"drainer", "localhost", "sslmode=allow", 0, "", plain},
		attempt{"drainer", "localhost", "sslmode=prefer", 0, "", plain},
		attempt{"drainer", "localhost", "", 0, "", plain},
		attempt{"drainer", "127.0.0.1", "sslmode=require", 1, off, ""},
		attempt{"drainer", "127.0.0.1", "sslmode=verify-ca" + root, 1, off, ""},
		attempt{"drainer", "127.0.0.1", "sslmode=verify-full" + root, 1, off, ""},
	)

	do(t, s.db, `alter system set ssl_ca_file = 'ca.crt'`)
	do(t, s.db, `alter system set ssl = on`)
	s.write("pg_hba.conf", []byte("host all postgres 127.0.0.1/32 scram-sha-256\nhostssl all drainer all scram-sha-256\nhostssl all certified all cert\n"))
	s.serve(a, "good")
	const unknown = "certificate signed by unknown authority; set sslrootcert in DATABASE_URL"
	mine := "&sslcert=" + a.file("client.crt") + "&sslkey=" + a.file("client.key")
	past := "&sslcert=" + a.file("past.crt") + "&sslkey=" + a.file("past.key")
	another := "&sslcert=" + other.file("client.crt") + "&sslkey=" + other.file("client.key")
	try(
		attempt{"drainer", "localhost", "sslmode=disable", 1, "no encryption (SQLSTATE 28000); the server wants TLS: set sslmode=verify-full", ""},
		attempt{"drainer", "localhost", "sslmode=allow", 0, "", unverified},
		attempt{"drainer", "localhost", "sslmode=prefer", 0, "", unverified},
		attempt{"drainer", "localhost", "sslmode=require", 0, "", unverified},
		attempt{"drainer", "127.0.0.1", "sslmode=require" + root, 0, "", verifiedCA}, // as libpq has it
		attempt{"drainer", "localhost", "sslmode=require&sslrootcert=" + other.file("ca.crt"), 1, unknown, ""},
		attempt{"drainer", "localhost", "sslmode=verify-ca", 1, unknown, ""},
		attempt{"drainer", "127.0.0.1", "sslmode=verify-ca" + root, 0, "", verifiedCA},
		attempt{"drainer", "localhost", "sslmode=verify-full" + root, 0, "", verifiedAll},
		attempt{"drainer", "localhost", "sslmode=verify-full", 1, unknown, ""},
		attempt{"drainer", "localhost", "sslrootcert=system", 1, unknown, ""},
		attempt{"drainer", "127.0.0.1", "sslmode=verify-full" + root, 1, "; connect by a name that is in the server's certificate", ""},
		attempt{"drainer", "localhost", "sslmode=verify-full&sslrootcert=/nowhere/ca.crt", 78, "names a certificate or key (sslrootcert, sslcert, sslkey) that cannot be used", ""},
		attempt{"certified", "localhost", "sslmode=verify-full" + root, 1, "; set sslcert and sslkey in DATABASE_URL", ""},
		attempt{"certified", "localhost", "sslmode=verify-full" + root + mine, 0, "", verifiedAll},
		attempt{"certified", "localhost", "sslmode=verify-full" + root + another, 1, "; set sslcert and sslkey in DATABASE_URL to a certificate that the server trusts", ""},
	)

	// TLS 1.3 looks at a client's certificate after the handshake, and a write may find the connection reset before the
	// refusal is read. 1.2 refuses within it.
	do(t, s.db, `alter system set ssl_max_protocol_version = 'TLSv1.2'`)
	s.serve(a, "good again")
	try(attempt{"certified", "localhost", "sslmode=verify-full" + root + past, 1, "; the server refused the client's certificate", ""})

	s.serve(a, "expired")
	const expired = "; renew the server's certificate, or set the clock of this machine"
	try(
		attempt{"drainer", "localhost", "sslmode=verify-full" + root, 1, expired, ""},
		attempt{"drainer", "localhost", "sslmode=verify-ca" + root, 1, expired, ""},
		attempt{"drainer", "localhost", "sslmode=require", 0, "", unverified},
	)
}
