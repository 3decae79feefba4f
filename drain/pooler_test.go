//go:build unix

package drain_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// Two drainers through PgBouncer in transaction mode with three server connections: every job once, payloads
// intact, nothing prepared under a name.
func TestThroughAPooler(t *testing.T) {
	r := newRig(t)
	pooled := pgbouncer(t, schematest.Direct(r.url))
	r.exec(`insert into ebb.jobs (payload) select jsonb_build_object('n', n, 'text', $1::text) from generate_series(1, 500) n`,
		`it's "quoted" \ $1 ? 😀 <&>`)
	want := map[int64]string{}
	rows, _ := r.db.Query(t.Context(), `select id, payload::text from ebb.jobs`)
	var id int64
	var text string
	if _, err := pgx.ForEachRow(rows, []any{&id, &text}, func() error { want[id] = text; return nil }); err != nil || len(want) != 500 {
		t.Fatal(err)
	}
	config := r.config(nil)
	config.Database, config.Concurrency = database(pooled), 8
	first, second := r.background(t.Context(), config), r.background(t.Context(), config)
	a, b := first(), second()
	if a.Done+b.Done != 500 || len(r.ids()) != 500 {
		t.Errorf("%+v\n%+v", a, b)
	}
	for _, job := range r.seen {
		if string(job.Payload) != want[job.ID] {
			t.Errorf("job %d came as %s, want %s", job.ID, job.Payload, want[job.ID])
		}
	}
	r.want(`select status, attempts, count(*) from ebb.jobs group by 1, 2`, "(done,1,500)")
}

// A startup parameter that the pooler does not pass is a mistake in the URL, not a database that will be there soon.
func TestParameterThatThePoolerRefuses(t *testing.T) {
	r := newRig(t)
	config := r.config(nil)
	config.Database = database(pgbouncer(t, schematest.Direct(r.url)) + "&jit=off")
	began := time.Now()
	_, err := r.try(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "unsupported startup parameter: jit (SQLSTATE 08P01); take that parameter out of DATABASE_URL") {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// pgbouncer starts a pooler in transaction mode before the server of a URL, and gives the URL through it.
func pgbouncer(t *testing.T, server string) string {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			schematest.Missing(t, "pgbouncer", "the way through a pooler needs pgbouncer (Debian: apt-get install pgbouncer)")
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	free.Close()
	dir, err := os.MkdirTemp("", "pgbouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	password, _ := u.User.Password()
	ini := filepath.Join(dir, "pgbouncer.ini")
	if password != "" {
		password = " password=" + password
	}
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\n"+
		"auth_type = any\nunix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 3\n",
		u.Hostname(), u.Port(), u.User.Username(), password, address.Port)
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, ini)
	cmd.Stderr = t.Output()
	if os.Geteuid() == 0 { // it refuses to run as root
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		os.Chown(dir, uid, gid)
		os.Chown(ini, uid, gid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address.String()); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("pgbouncer does not listen")
		}
	}
	u.Host = address.String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}
