//go:build unix

package cli

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// Whoever reaches the port holds connections for as long as it likes, and the jobs are done all the same: files are left for
// their commands, and a caller gets through.
func TestServeAmongStrangers(t *testing.T) {
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	do(t, db, `insert into ebb.jobs (payload, max_attempts) select '{}', 1 from generate_series(1, 20)`)

	p := process{exec.Command("sh", "-c", `ulimit -n 1024; exec "$0" serve -- sh -c 'cat; sleep 0.1'`, os.Args[0]), &buffer{}, &buffer{}, make(chan struct{})}
	p.Env = []string{"BE_EBB=yes", "PATH=" + os.Getenv("PATH"), "DATABASE_URL=" + url, "EBB_TOKEN=" + rightToken, "EBB_ADDR=127.0.0.1:0", "EBB_LOG=json"}
	p.Stdout, p.Stderr = p.stdout, p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.Wait(); close(p.end) }()
	t.Cleanup(func() { p.Process.Kill(); <-p.end })
	s := served{}
	for late := time.Now().Add(20 * time.Second); s.addr == ""; time.Sleep(time.Millisecond) {
		_, rest, _ := strings.Cut(p.stderr.String(), `"address":"`)
		s.addr, _, _ = strings.Cut(rest, `"`)
		if time.Now().After(late) {
			t.Fatalf("it does not serve: %s", p.stderr)
		}
	}
	for range 1010 {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	began := time.Now()
	r := s.run()
	if r.status != 200 || r.report.Done != 20 || time.Since(began) > 20*time.Second {
		t.Errorf("after %v: %+v\n%s", time.Since(began), r, p.stderr)
	}
	if done := text(t, db, `select count(*)::text from ebb.jobs where status = 'done'`); done != "20" {
		t.Errorf("%s jobs are done", done)
	}
	p.Process.Signal(syscall.SIGTERM)
	if got := p.result(t); got.status != 0 {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}
