package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// What PQconndefaults of PostgreSQL 18 lists, a keyword and its variable, and the variables that libpq reads besides.
const libpq18 = `service=PGSERVICE user=PGUSER password=PGPASSWORD passfile=PGPASSFILE channel_binding=PGCHANNELBINDING
connect_timeout=PGCONNECT_TIMEOUT dbname=PGDATABASE host=PGHOST hostaddr=PGHOSTADDR port=PGPORT client_encoding=PGCLIENTENCODING
options=PGOPTIONS application_name=PGAPPNAME fallback_application_name= keepalives= keepalives_idle= keepalives_interval=
keepalives_count= tcp_user_timeout= sslmode=PGSSLMODE sslnegotiation=PGSSLNEGOTIATION sslcompression=PGSSLCOMPRESSION
sslcert=PGSSLCERT sslkey=PGSSLKEY sslcertmode=PGSSLCERTMODE sslpassword= sslrootcert=PGSSLROOTCERT sslcrl=PGSSLCRL
sslcrldir=PGSSLCRLDIR sslsni=PGSSLSNI requirepeer=PGREQUIREPEER require_auth=PGREQUIREAUTH
min_protocol_version=PGMINPROTOCOLVERSION max_protocol_version=PGMAXPROTOCOLVERSION
ssl_min_protocol_version=PGSSLMINPROTOCOLVERSION ssl_max_protocol_version=PGSSLMAXPROTOCOLVERSION gssencmode=PGGSSENCMODE
krbsrvname=PGKRBSRVNAME gsslib=PGGSSLIB gssdelegation=PGGSSDELEGATION replication= target_session_attrs=PGTARGETSESSIONATTRS
load_balance_hosts=PGLOADBALANCEHOSTS scram_client_key= scram_server_key= oauth_issuer= oauth_client_id= oauth_client_secret=
oauth_scope= sslkeylogfile= servicefile=PGSERVICEFILE
=PGREQUIRESSL =PGDATESTYLE =PGTZ =PGGEQO =PGSYSCONFDIR =PGLOCALEDIR =PGOAUTHDEBUG`

func TestEveryParameterOfLibpqHasAFate(t *testing.T) {
	for entry := range strings.FieldsSeq(libpq18) {
		keyword, variable, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(parameters, func(p parameter) bool {
			return (keyword == "" || p.keyword == keyword) && (variable == "" || p.variable == variable)
		}) {
			t.Errorf("%s is not in the table", entry)
		}
	}
	seen := map[string]bool{}
	for _, p := range parameters {
		for _, name := range []string{p.keyword, p.variable} {
			if name != "" && seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if (p.fate == dropped || p.fate == unobeyed) && p.why == "" {
			t.Errorf("%s%s: nobody says why", p.keyword, p.variable)
		}
	}
}

// What the table says pgx obeys it does not send to the server, but for what is the server's to obey.
func TestObeyedIsWhatPgxTakes(t *testing.T) {
	for _, p := range parameters {
		if p.fate != obeyed || slices.Contains([]string{"options", "application_name", "timezone", "service"}, p.keyword) {
			continue
		}
		value := "1"
		if values := strings.Fields(p.values); len(values) > 0 {
			value = values[0]
		} else if p.keyword == "require_auth" {
			value = "password"
		} else if p.keyword == "sslrootcert" {
			value = "system"
		}
		text := "postgres://joe@db.example/jobs?sslmode=disable&" + p.keyword + "=" + value
		if strings.HasPrefix(p.keyword, "ssl") && p.keyword != "sslmode" {
			text = "host=db.example sslmode=disable " + p.keyword + "=" + value
		}
		config, err := pgx.ParseConfig(text)
		if err != nil {
			t.Errorf("%s: %v", p.keyword, err)
		} else if _, sent := config.RuntimeParams[p.keyword]; sent {
			t.Errorf("%s is sent to the server", p.keyword)
		}
		if p.variable == "" || p.keyword == "dbname" {
			continue
		}
		t.Setenv(p.variable, "~") // what no parameter has for its value
		if config, err := pgx.ParseConfig("user=joe host=db.example sslmode=disable"); err == nil {
			read := fmt.Sprint(config.Port, config.Password, config.SSLNegotiation, config.KerberosSrvName)
			if !strings.Contains(read, "~") && !slices.Contains([]string{"user", "host", "passfile", "servicefile", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword", "sslsni"}, p.keyword) {
				t.Errorf("%s makes no difference", p.variable)
			}
		}
		os.Unsetenv(p.variable)
	}
}

// A server that counts who comes.
func visited(t *testing.T) (address string, came func() int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	visits := make(chan struct{}, 1000)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			visits <- struct{}{}
			conn.Close()
		}
	}()
	return listener.Addr().String(), func() int { return len(visits) }
}

// What would lead to another server, or to a weaker connection, is refused by name before anybody is asked: all of it at
// once, wherever it is written.
func TestUnobeyedParametersAreRefused(t *testing.T) {
	address, came := visited(t)
	host, port, _ := net.SplitHostPort(address)
	bad := map[string]string{
		"hostaddr": "127.0.0.9", "sslcrl": "/x", "requirepeer": "postgres", "ssl_min_protocol_version": "TLSv1.3", "gssencmode": "require",
		"replication": "database", "scram_client_key": "x", "oauth_client_secret": "x", "schema": "shop", "sslaccept": "strict",
		"ssl": "require", "sslmode": "no-verify", "channel_binding": "maybe", "target_session_attrs": "leader", "client_encoding": "LATIN1",
		"load_balance_hosts": "round", "options": "-c a=1 -x", "connect_timeout": "soon",
	}
	query, words, service := url.Values{}, "", "[x]\nhost="+host+"\nport="+port+"\n"
	for name, value := range bad {
		query.Set(name, value)
		words += " " + name + "='" + value + "'"
	}
	for _, name := range []string{"hostaddr", "sslcrl", "schema", "gssencmode", "options"} {
		service += name + "=" + bad[name] + "\n"
	}
	file := filepath.Join(t.TempDir(), "service")
	if err := os.WriteFile(file, []byte(service), 0o600); err != nil {
		t.Fatal(err)
	}
	for form, env := range map[string]map[string]string{
		"a URL":          {"DATABASE_URL": "postgres://joe@" + address + "/jobs?" + strings.ReplaceAll(query.Encode(), "+", "%20")},
		"words":          {"DATABASE_URL": "host=" + host + " port=" + port + words},
		"a service file": {"DATABASE_URL": "service=x servicefile=" + file},
	} {
		for _, command := range [][]string{{"run", "--", "true"}, {"migrate"}, {"status"}, {"enqueue", "q", "{}"}, {"awake"}} {
			env["EBB_CONNECT_TIMEOUT"] = "100ms"
			got := setup{env: env}.ebb(command...)
			if got.status != refused {
				t.Errorf("%s, %v: exit %d, %s", form, command, got.status, got.stderr)
			}
			for name := range bad {
				in := form != "a service file" || strings.Contains(service, "\n"+name+"=")
				if in && !strings.Contains(got.stderr, ": "+name+" ") {
					t.Errorf("%s, %v: %s is not named in\n%s", form, command, name, got.stderr)
				}
			}
		}
	}
	for variable, value := range map[string]string{
		"PGHOSTADDR": "127.0.0.9", "PGREQUIRESSL": "1", "PGSSLCRL": "/x", "PGSSLCRLDIR": "/x", "PGREQUIREPEER": "postgres",
		"PGSSLMINPROTOCOLVERSION": "TLSv1.3", "PGSSLMAXPROTOCOLVERSION": "TLSv1.2", "PGGSSENCMODE": "require", "PGCLIENTENCODING": "LATIN1",
		"PGLOADBALANCEHOSTS": "round", "PGSSLMODE": "no-verify", "PGTARGETSESSIONATTRS": "leader", "PGOPTIONS": "-x", "PGCHANNELBINDING": "maybe",
	} {
		got := setup{env: map[string]string{"DATABASE_URL": "postgres://joe@" + address + "/jobs", variable: value, "EBB_CONNECT_TIMEOUT": "100ms"}}.ebb("run", "--", "true")
		if got.status != refused || lineOf(got.stderr, variable) == "" {
			t.Errorf("%s=%s: exit %d, %s", variable, value, got.status, got.stderr)
		}
	}
	if n := came(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestUnknownParametersAreNotRepeated(t *testing.T) {
	for text, says := range map[string]string{
		"sslmod=require":              "did you mean sslmode?",
		"statment_timeout=5s":         "did you mean statement_timeout?",
		secretLeft + "=" + secretLeft: "take it out",
	} {
		got := setup{env: map[string]string{"DATABASE_URL": nowhere + "?" + text}}.ebb("run", "--", "true")
		if got.status != refused || !strings.Contains(got.stderr, says) || leaked(got.stderr) != "" {
			t.Errorf("%s: exit %d, %s", text, got.status, got.stderr)
		}
	}
}

// What is read as libpq reads it: names of versions and encodings in any case, ssl=true, and a + that is one.
func TestParametersAreReadAsByLibpq(t *testing.T) {
	for query, says := range map[string]string{
		"ssl_min_protocol_version=TLSv1.2": "", "client_encoding=UTF8": "", "ssl=true": "", "options=-c%20a.b%3D1": "",
		"ssl=1": "DATABASE_URL: ssl is not obeyed", "options=-c+a.b%3D1": "DATABASE_URL: options has an argument",
		"sslmode=": "DATABASE_URL: sslmode has a value", "hostaddr=": "", "sslcrl=&requirepeer=": "", "connect_timeout=": "",
		"connect_timeout=-1": "DATABASE_URL: connect_timeout is not",
	} {
		where, mistakes := readDatabase(t, map[string]string{"DATABASE_URL": "postgres://joe@db.example/jobs?" + query}, nil)
		if said := strings.Join(mistakes, "\n"); says == "" && where == "" && query != "connect_timeout=" || !strings.HasPrefix(said, says) {
			t.Errorf("%s: %s %s", query, where, said)
		}
	}
	config, err := parseURL("DATABASE_URL", "postgres://joe@db.example/jobs?ssl=true")
	if err != nil || config.TLSConfig == nil || len(config.Fallbacks) > 0 {
		t.Errorf("ssl=true asks for no encryption: %v", err)
	}
}

// What is dropped harms nothing, and what is the server's gets there.
func TestSharedURLs(t *testing.T) {
	plain := schematest.Direct(schematest.New(t)) // a pooler passes few parameters
	separator := "?"
	if strings.Contains(plain, "?") {
		separator = "&"
	}
	query := url.Values{}
	for _, p := range parameters {
		if p.keyword == "" || p.fate != dropped {
			continue
		}
		query.Set(p.keyword, "1")
		if values := strings.Fields(p.values); len(values) > 0 {
			query.Set(p.keyword, values[0])
		}
	}
	query.Set("pgbouncer", "true")
	for name, value := range map[string]string{
		"application_name": "shop", "statement_timeout": "7s", "search_path": "shop", "Shop.tenant": "a", "client_encoding": "utf-8",
		"options": `-c lock_timeout=8s --work_mem=5MB -cshop.name=a\ b`, "DateStyle": "ISO, DMY", "timezone": "UTC", "connect_timeout": "5", "sslsni": "0",
	} {
		query.Set(name, value)
	}
	env := map[string]string{"DATABASE_URL": plain + separator + strings.ReplaceAll(query.Encode(), "+", "%20"), "PGGEQO": "off", "PGDATESTYLE": "ISO, MDY", "PGKRBSRVNAME": "x", "PGGSSENCMODE": "prefer", "PGREQUIRESSL": "0"}
	if got := (setup{env: env}).ebb("status"); got.status != 0 {
		t.Fatalf("exit %d: %s", got.status, got.stderr)
	}
	c, _ := load(env, given{})
	from, mistakes := c.database(env, given{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	config, err := from()
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for name, want := range map[string]string{"application_name": "shop", "statement_timeout": "7s", "search_path": "shop", "shop.tenant": "a",
		"lock_timeout": "8s", "work_mem": "5MB", "shop.name": "a b", "datestyle": "ISO, DMY", "geqo": "off"} {
		if got := text(t, db, "select current_setting('"+name+"')"); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}

// A server's own settings are none of the unknown.
func TestServersSettingsAreKnown(t *testing.T) {
	db := schematest.Connect(t, schematest.New(t))
	names := strings.Fields(text(t, db, `select string_agg(name, ' ') from pg_settings where context not in ('internal', 'postmaster', 'sighup')`))
	if len(names) < 100 {
		t.Fatal(names)
	}
	for _, name := range names {
		if _, known := byKeyword(name); !known && !isServers(name) {
			t.Errorf("%s would be refused", name)
		}
	}
}
