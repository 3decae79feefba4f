package cli

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// The secrets of these tests have no three letters in a row that occur in anything else that ebb says. Their halves are
// what a separator between them, written raw, takes apart.
const (
	secretUser  = "Wzqkuq"
	secretLeft  = "Zqxvjk"
	secretRight = "Vkjqzw"
)

// leaked is a piece of three characters of a secret that is in a text, however it is written there; or nothing.
func leaked(text string) string {
	lower := strings.ToLower(text)
	for _, whole := range []string{secretUser, secretLeft, secretRight} {
		whole = strings.ToLower(whole)
		for i := range len(whole) - 2 {
			if strings.Contains(lower, whole[i:i+3]) {
				return whole[i : i+3]
			}
		}
	}
	for _, whole := range []string{secretLeft, secretRight} {
		for _, written := range []string{hex.EncodeToString([]byte(whole)), base64.StdEncoding.EncodeToString([]byte(whole))[:6]} {
			if strings.Contains(lower, strings.ToLower(written)) {
				return written
			}
		}
	}
	return ""
}

// wrongURLs are ways to write a database's URL wrong, or right, with a password of two halves.
func wrongURLs() map[string]string {
	at := "@127.0.0.1:1/jobs"
	url := func(between string) string {
		return "postgres://" + secretUser + ":" + secretLeft + between + secretRight + at
	}
	plain := url("-")
	ways := map[string]string{
		"right":                  plain,
		"no scheme":              strings.TrimPrefix(plain, "postgres://"),
		"half a scheme":          strings.TrimPrefix(plain, "postgres:"),
		"jdbc":                   "jdbc:postgresql://127.0.0.1:1/jobs?user=" + secretUser + "&password=" + secretLeft,
		"spaces around":          "  " + plain + "\t ",
		"quoted":                 `"` + plain + `"`,
		"quoted once":            `'` + plain,
		"quoted at the end":      plain + `"`,
		"as an assignment":       "DATABASE_URL=" + plain,
		"as an export":           "export DATABASE_URL='" + plain + "'",
		"two":                    plain + " " + plain,
		"two lines":              plain + "\n" + plain,
		"two with a comma":       plain + "," + plain,
		"letters for a port":     "postgres://" + secretUser + ":" + secretLeft + "@127.0.0.1:" + secretRight + "/jobs",
		"a secret for a user":    "postgres://" + secretLeft + at,
		"password with a number": "postgres://" + secretUser + ":60741/" + secretLeft + at,
		"number and ?":           "postgres://" + secretUser + ":60741?" + secretLeft + at,
		"number and #":           "postgres://" + secretUser + ":60741#" + secretLeft + at,
		"@ and /":                "postgres://" + secretUser + ":x@127.0.0.1/" + secretLeft + at,
		"@ and ?":                "postgres://" + secretUser + ":x@127.0.0.1?" + secretLeft + at,
		"@ and ?=":               "postgres://" + secretUser + ":x@127.0.0.1?" + secretLeft + "=1" + at,
		"unknown parameter":      plain + "?" + secretLeft + "=" + secretRight,
		"parameter's value":      plain + "?sslmode=" + secretLeft + "&connect_timeout=" + secretRight,
		"a timeout":              plain + "?connect_timeout=" + secretRight,
		"exec mode":              plain + "?default_query_exec_mode=" + secretRight,
		"cache":                  plain + "?statement_cache_capacity=" + secretRight,
		"protocol":               plain + "?min_protocol_version=" + secretRight,
		"channel binding":        plain + "?channel_binding=" + secretRight,
		"session attrs":          plain + "?target_session_attrs=" + secretRight,
		"negotiation":            plain + "?sslnegotiation=" + secretRight,
		"certificate":            plain + "?sslmode=verify-full&sslrootcert=/" + secretRight,
		"key":                    plain + "?sslmode=require&sslcert=/" + secretRight + "&sslkey=/" + secretLeft,
		"key's password":         plain + "?sslmode=require&sslpassword=" + secretRight,
		"passfile":               "postgres://" + secretUser + at + "?passfile=/" + secretLeft,
		"service":                plain + "?service=" + secretLeft,
		"service file":           plain + "?service=x&servicefile=/" + secretLeft,
		"options":                plain + "?options=-c%20a.b%3D" + secretRight + "%20-" + secretLeft,
		"options' value":         plain + "?options=-c%20a.b%3D" + secretRight,
		"the host":               "postgres://" + secretLeft + secretRight,
		"the database":           "host=127.0.0.1 port=1 dbname=postgres://u:" + secretLeft + secretRight + "@h/d",
		"the database in words":  "host=127.0.0.1 port=1 dbname='host=h password=" + secretLeft + "'",
		"words with a blank":     "host=127.0.0.1 port=1 password=x" + secretLeft + " " + secretRight + "=1",
		"words with an option":   "host=127.0.0.1 port=1 options=-c " + secretLeft + "=" + secretRight,
		"words":                  "host=127.0.0.1 port=1 user=" + secretUser + " password=" + secretLeft + "-" + secretRight,
		"words with a space":     "host=127.0.0.1 port=1 user=" + secretUser + " password=" + secretLeft + " " + secretRight,
		"words with a quote":     "host=127.0.0.1 port=1 user=" + secretUser + " password='" + secretLeft + "'" + secretRight,
		"words half quoted":      "host=127.0.0.1 port=1 user=" + secretUser + " password='" + secretLeft + " " + secretRight,
		"words with a backslash": "host=127.0.0.1 port=1 password=" + secretLeft + `\`,
		"password first":         "password=" + secretLeft + secretRight + " host=127.0.0.1 port=1",
		"PASSWORD":               "PASSWORD=" + secretLeft + secretRight + " HOST=127.0.0.1",
		"colons":                 "host: 127.0.0.1 password: " + secretLeft,
		"JSON":                   `{"host": "127.0.0.1", "password": "` + secretLeft + secretRight + `"}`,
		"the password alone":     secretLeft + secretRight,
		"a socket":               "postgres:///jobs?host=/nowhere&user=" + secretUser + "&password=" + secretLeft,
		"escaped":                url("%2F%40%3A"),
		"half an escape":         url("%2"),
		"a bad escape":           url("%zz"),
		"an escaped NUL":         url("%00"),
		"escaped bytes":          url("%ff%fe"),
		"an escaped line":        url("%0A"),
		"user with an escape":    "postgres://" + secretUser + "%zz:" + secretLeft + at,
		"path with an escape":    "postgres://127.0.0.1:1/" + secretLeft + "%zz",
		"query with an escape":   plain + "?application_name=" + secretRight + "%zz",
		"semicolons":             plain + "?a=" + secretLeft + ";b=" + secretRight,
	}
	for _, scheme := range []string{"http", "mysql", "postgres+ssl", "POSTGRES", "postgresql+psycopg2", "posgres", "postgres:"} {
		ways["scheme "+scheme] = strings.Replace(plain, "postgres", scheme, 1)
	}
	for _, between := range "@:/?#%&=+ \n\r\t\"'`\\[]{}()<>|^~;,.!$*\x00\x1b\x7fé仕\u2028\u200b" {
		ways[fmt.Sprintf("raw %q", between)] = url(string(between))
		ways[fmt.Sprintf("twice %q", between)] = url(string(between) + string(between))
		ways[fmt.Sprintf("number and raw %q", between)] = url("-60741" + string(between))
		ways[fmt.Sprintf("first %q", between)] = "postgres://" + secretUser + ":" + string(between) + secretLeft + at
		ways[fmt.Sprintf("in the user %q", between)] = "postgres://" + secretUser + string(between) + secretLeft + at
	}
	return ways
}

// quietly wants that nothing of a secret was said.
func (i invocation) quietly(t *testing.T, format string, args ...any) {
	t.Helper()
	if piece := leaked(i.stdout + i.stderr); piece != "" {
		t.Errorf("%s: %q is in\n%s%s", fmt.Sprintf(format, args...), piece, i.stdout, i.stderr)
	}
}

// secrets are never printed, in whole or in part, however the database's URL is written.
func TestWrongURLIsNotPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	for name, url := range wrongURLs() {
		n++
		// With NUL in it a value can be neither argument nor variable, but it can be in a file.
		file, summary := filepath.Join(dir, fmt.Sprint(n)), filepath.Join(dir, "summary")
		if err := os.WriteFile(file, []byte(url), 0o600); err != nil {
			t.Fatal(err)
		}
		for place, s := range map[string]setup{
			"DATABASE_URL":      {env: map[string]string{"DATABASE_URL": url}},
			"DATABASE_URL_FILE": {env: map[string]string{"DATABASE_URL_FILE": file}},
		} {
			for i, command := range [][]string{{"run", "--", "true"}, {"migrate"}, {"status", "--json"}, {"enqueue", "email", "{}"}, {"awake"}, {"plan", "--from-history", "@hourly"}} {
				if i > 1 && (n+i)%3 > 0 { // what they say of it is said by the same code
					continue
				}
				s.env["EBB_CONNECT_TIMEOUT"], s.env["EBB_LOG_LEVEL"] = "20ms", "debug"
				s.env["EBB_LOG"] = []string{"text", "json"}[(n+i)%2]
				if i == 0 {
					s.env["EBB_SUMMARY_FILE"] = summary
				} else {
					delete(s.env, "EBB_SUMMARY_FILE")
				}
				got := s.ebb(command...)
				got.quietly(t, "%s in %s, %v", name, place, command)
				if got.status != refused && got.status != failed {
					t.Errorf("%s in %s, %v: exit %d", name, place, command, got.status)
				}
			}
			if text, _ := os.ReadFile(summary); leaked(string(text)) != "" {
				t.Errorf("%s in %s: the summary's file has it: %s", name, place, text)
			}
		}
	}
}

// And wherever else it is put by mistake: as an argument, behind a flag, in another variable.
func TestURLElsewhereIsNotPrinted(t *testing.T) {
	t.Parallel()
	ways := wrongURLs()
	for _, name := range []string{"right", "no scheme", "quoted", "two", "words", "PASSWORD", "as an assignment", "a socket", "JSON", "scheme mysql", `raw '/'`, `raw '@'`, `raw '%'`, `raw '\n'`, `raw ' '`} {
		url, ok := ways[name]
		if !ok {
			t.Fatalf("there is no way %s", name)
		}
		env := map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "20ms", "EBB_LOG_LEVEL": "debug"}
		for _, args := range [][]string{
			{url}, {"run", url}, {"run", "--", url}, {"migrate", url}, {"status", url}, {"awake", url}, {"enqueue", url}, {"enqueue", url, "{}"},
			{"enqueue", "email", url}, {"enqueue", "email", "{}", url}, {"enqueue", "email", "--at", url}, {"enqueue", "email", "--in", url},
			{"enqueue", "email", "--max-attempts", url}, {"enqueue", "email", "{}", "--unique-key", url}, {"try", url}, {"try", "email", "--", url},
			{"plan", url}, {"plan", "--max-latency", url}, {"plan", "--price", url}, {"awake", "--watch", url}, {"manifest", url}, {"version", url}, {"demo", url},
			{"help", url}, {"completion", url}, {"--" + url}, {"run", "--" + url}, {"run", "-" + url}, {"run", "--database-uri=" + url}, {"run", "--database-uri", url}, {"run", "--queue", url, "--", "true"},
		} {
			setup{env: env}.ebb(args...).quietly(t, "%s: %.30q", name, args)
		}
		for _, s := range Settings() {
			variable := strings.Replace(s.Variable, "<Q>", "X", 1)
			got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "20ms", variable: url}}.ebb("run", "--", "true")
			if variable == "DATABASE_URL_FILE" {
				got = setup{env: map[string]string{variable: url}}.ebb("run", "--", "true")
			}
			got.quietly(t, "%s in %s", name, variable)
			setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "20ms", variable: url}}.ebb("run").quietly(t, "%s in %s", name, variable)
			if s.Flag != "" {
				setup{env: env}.ebb("run", "--"+s.Flag, url, "--", "true").quietly(t, "%s behind --%s", name, s.Flag)
			}
		}
		for _, variable := range []string{"EBB_DATABASE_URL", "EBB_URL", "EBB_QUEUE_X", "EBB_QUEUE_X_URL", "EBB_QUEUE_X_SECRET", "EBB_SERVICE_HOST", "EBB_PORT", "EBB_RUN_ID", "EBB_RECURRING_X_PAYLOAD"} {
			setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_CONNECT_TIMEOUT": "20ms", variable: url}}.ebb("run", "--", "true").quietly(t, "%s in %s", name, variable)
		}
	}
}

// The variables and files of libpq, read by pgx.
func TestLibpqsSecretsAreNotPrinted(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		name := filepath.Join(dir, fmt.Sprint(len(text)))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	url := wrongURLs()["right"]
	for _, env := range []map[string]string{
		{"PGPASSWORD": secretLeft}, {"PGPASSWORD": secretLeft + "\n"}, {"PGUSER": secretUser, "PGPASSWORD": `"` + secretLeft + `"`},
		{"PGDATABASE": "postgres://u:" + secretLeft + "@h/d"}, {"PGDATABASE": "host=h password=" + secretLeft}, {"PGDATABASE": "u:" + secretLeft + "@h/d"},
		{"PGOPTIONS": "-c a.b=" + secretLeft + " -" + secretRight}, {"PGHOSTADDR": secretLeft}, {"PGSSLCRL": secretLeft}, {"PGSSLPASSWORD": secretLeft},
		{"PGSERVICEFILE": file("[x]\nhost=127.0.0.1\nport=1\ndbname=postgres://u:" + secretLeft + "@h/d\n"), "PGSERVICE": "x"},
		{"PGSERVICEFILE": file("[x]\nhost=127.0.0.1\nport=1\nhostaddr=" + secretLeft + "\n" + secretRight + "=1\n"), "PGSERVICE": "x"},
		{"PGHOST": url}, {"PGPORT": secretLeft}, {"PGPORT": url}, {"PGDATABASE": url}, {"PGUSER": url}, {"PGSSLMODE": secretLeft}, {"PGOPTIONS": secretLeft},
		{"PGSERVICE": url}, {"PGSERVICE": secretLeft}, {"PGPASSFILE": url}, {"PGSERVICEFILE": url, "PGSERVICE": "x"}, {"PGSSLROOTCERT": "/" + secretLeft, "PGSSLMODE": "verify-full"},
		{"PGTARGETSESSIONATTRS": secretLeft}, {"PGCONNECT_TIMEOUT": secretLeft}, {"PGAPPNAME": secretLeft}, {"PGMINPROTOCOLVERSION": secretLeft},
		{"PGPASSFILE": file("127.0.0.1:*:*:" + secretUser + ":" + secretLeft + "\n"), "PGUSER": secretUser},
		{"PGPASSFILE": file(secretLeft), "PGUSER": secretUser},
		{"PGSERVICEFILE": file("[x]\nhost=127.0.0.1\nport=1\npassword=" + secretLeft + "\n"), "PGSERVICE": "x"},
		{"PGSERVICEFILE": file("[x]\n" + secretLeft + "\n"), "PGSERVICE": "x"},
		{"PGSERVICEFILE": file("[x\npassword=" + secretLeft + "\n"), "PGSERVICE": "x"},
		{"PGSERVICEFILE": file("[x]\nport=" + secretLeft + "\nsslmode=" + secretRight), "PGSERVICE": "x"},
		{"PGSERVICEFILE": file("password=" + secretLeft + secretRight), "PGSERVICE": "x"},
	} {
		t.Run("", func(t *testing.T) {
			all := map[string]string{"PGHOST": "127.0.0.1", "PGPORT": "1", "EBB_CONNECT_TIMEOUT": "20ms", "EBB_LOG_LEVEL": "debug"}
			for name, value := range env {
				all[name] = value
			}
			for name, value := range all {
				if strings.HasPrefix(name, "PG") {
					t.Setenv(name, value)
				}
			}
			for _, command := range [][]string{{"run", "--", "true"}, {"migrate"}} {
				setup{env: all}.ebb(command...).quietly(t, "%v", env)
			}
		})
	}
}

// A server, or what stands before it, may say in its refusal all that it was told.
func TestServersEchoIsNotPrinted(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"28P01", "28000", "3D000", "42704", "08P01", "53300", "57P03", "XX000", "P0001"} {
		url := "postgres://drainer:" + secretLeft + "%2F" + secretRight + "@" + echoing(t, code) + "/jobs?sslmode=disable"
		for i, command := range [][]string{{"run", "--", "true"}, {"migrate"}} {
			got := setup{env: map[string]string{"DATABASE_URL": url, "EBB_CONNECT_TIMEOUT": "200ms", "EBB_LOG_LEVEL": "debug", "EBB_LOG": []string{"text", "json"}[i]}}.ebb(command...)
			got.quietly(t, "%s, %v", code, command)
			if got.status != failed || !strings.Contains(got.stdout+got.stderr, code) || !strings.Contains(got.stdout+got.stderr, "drainer") {
				t.Errorf("%s, %v: exit %d, %s%s", code, command, got.status, got.stdout, got.stderr)
			}
		}
	}
}

// echoing is a server that refuses everybody, and says with which user, password and parameters they came.
func echoing(t *testing.T, code string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				b := pgproto3.NewBackend(conn, conn)
				m, err := b.ReceiveStartupMessage()
				start, ok := m.(*pgproto3.StartupMessage)
				if err != nil || !ok {
					return
				}
				b.Send(&pgproto3.AuthenticationCleartextPassword{})
				b.Flush()
				b.SetAuthType(pgproto3.AuthTypeCleartextPassword)
				got, err := b.Receive()
				if err != nil {
					return
				}
				password := got.(*pgproto3.PasswordMessage).Password
				said := fmt.Sprintf("no entry for %v with %s, %q, password=%s.", start.Parameters, password, password, password)
				b.Send(&pgproto3.NoticeResponse{Severity: "WARNING", Code: "01000", Message: said})
				b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: said, Detail: said, Hint: said})
				b.Flush()
			}()
		}
	}()
	return listener.Addr().String()
}

// What a handler prints of its environment has nothing of the database in it, and so have the rows.
func TestHandlersEnvironmentHasNoSecret(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (queue, payload, max_attempts) values ('print', '{}', 5), ('print', '{}', 1)`)
	t.Setenv("PGPASSWORD", secretLeft) // for whoever reads the process's own instead of what it is given
	s := setup{env: map[string]string{
		"DATABASE_URL": url, "PGPASSWORD": secretLeft, "PGPASSFILE": "/" + secretRight, "PGSERVICEFILE": "/" + secretLeft, "EBB_LOG_LEVEL": "debug",
		"EBB_QUEUE_PRINT_COMMAND": `sh -c 'env; env >&2; exit 1'`,
	}}
	for range 2 {
		got := s.ebb("run")
		got.quietly(t, "run")
		if got.status != 0 || !strings.Contains(got.stderr, "EBB_JOB_ID=") {
			t.Errorf("exit %d: %s%s", got.status, got.stdout, got.stderr)
		}
		s.env["EBB_LOG"] = "text"
		do(t, db, `update ebb.jobs set status = 'queued', run_at = now(), attempts = 0`)
	}
	for _, table := range []string{"jobs", "jobs_runs"} {
		rows := text(t, db, `select coalesce(string_agg(r::text, ' '), '') from ebb.`+table+` r`)
		if piece := leaked(rows); piece != "" || !strings.Contains(rows, "(") {
			t.Errorf("%q is in %s: %s", piece, table, rows)
		}
	}
}

func TestLeakedIsFound(t *testing.T) {
	for _, text := range []string{"a " + secretLeft + " b", strings.ToUpper(secretRight[2:5]), "x" + secretUser[:3], fmt.Sprintf("%x", secretLeft)} {
		if leaked(text) == "" {
			t.Errorf("not found in %s", text)
		}
	}
	if names := slices.Collect(func(yield func(string) bool) {
		for name := range wrongURLs() {
			if !yield(name) {
				return
			}
		}
	}); len(names) < 150 {
		t.Errorf("only %d ways", len(names))
	}
}
