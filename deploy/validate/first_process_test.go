package validate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// ebb serve as the first process of a container: what commands leave behind does not pile up, every job gets its own
// exit status, and one signal ends it all.
func TestServeAsTheFirstProcess(t *testing.T) {
	enter := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command("unshare", append(enter, "true")...).CombinedOutput(); err != nil {
		schematest.Missing(t, "root", fmt.Sprintf("no process can be made the first one of a container here: %v: %s", err, out))
	}
	paths, err := built()
	if err != nil {
		t.Fatal(err)
	}
	url := schematest.New(t)
	db := schematest.Connect(t, url)
	const token = "0123456789abcdef"
	first := exec.Command("unshare", append(enter, paths[0], "serve", "--addr", "127.0.0.1:0", "--", "sh", "-c",
		`setsid sleep 0.1 >/dev/null 2>&1 & if [ $((EBB_JOB_ID % 2)) = 0 ]; then exit 65; fi`)...)
	first.Env = []string{"PATH=" + os.Getenv("PATH"), "DATABASE_URL=" + url, "EBB_TOKEN=" + token}
	log, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var summaries bytes.Buffer
	first.Stdout = &summaries
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Process.Kill()
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct{ Address string }
			if json.Unmarshal(lines.Bytes(), &line); line.Address != "" {
				address <- line.Address
			}
		}
	}()
	var at string
	select {
	case at = <-address:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not serve")
	}

	for range 2 {
		if _, err := db.Exec(t.Context(), `insert into ebb.jobs (payload) select '{}' from generate_series(1, 30)`); err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequest("POST", "http://"+at+"/run", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var r drain.Report
		json.NewDecoder(resp.Body).Decode(&r)
		resp.Body.Close()
		if resp.StatusCode != 200 || r.Done != 15 || r.Failed != 15 {
			t.Errorf("%d: %+v", resp.StatusCode, r)
		}
	}
	ebb := childrenOf(t, first.Process.Pid, "")
	if len(ebb) != 1 {
		t.Fatalf("unshare has the children %v", ebb)
	}
	for late := time.Now().Add(20 * time.Second); len(childrenOf(t, ebb[0], "")) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("zombies are left: %v", childrenOf(t, ebb[0], "Z"))
		}
	}
	syscall.Kill(ebb[0], syscall.SIGTERM)
	if err := first.Wait(); err != nil || strings.Count(summaries.String(), "\n") != 2 {
		t.Errorf("%v: %s", err, &summaries)
	}
	var left int
	err = db.QueryRow(t.Context(), `select count(*) from ebb.jobs where (status = 'failed') <> (id % 2 = 0)`).Scan(&left)
	if err != nil || left > 0 {
		t.Errorf("%d jobs have another's end, %v", left, err)
	}
}

// childrenOf lists a process's children, those in a certain state alone where one is given.
func childrenOf(t *testing.T, parent int, state string) (pids []int) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it is gone
		}
		var pid, of int
		var is string
		fmt.Sscan(string(text), &pid)
		fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &is, &of)
		if of == parent && (state == "" || is == state) {
			pids = append(pids, pid)
		}
	}
	return pids
}
