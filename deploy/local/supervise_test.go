//go:build unix

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// child starts this binary as a program that starts a server (see TestMain), in a group of its own as from a terminal.
func child(t *testing.T) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EBB_TEST_BE=server")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

func TestParentKilled(t *testing.T) {
	temp := publicTemp(t)
	cmd, out := child(t)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%v (the child said %q)", err, line)
	}
	defer conn.Close(context.Background())

	// Ctrl-C at the terminal reaches all of the foreground group, and the server is not in it.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; CREATE TABLE kept (id int)"); err != nil {
		t.Fatal(err)
	}
	if len(processes(t, temp)) == 0 {
		t.Fatal("ps shows no process of the server, so it cannot show that they are gone")
	}

	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "the directory is removed", func() bool { return empty(temp) })
	await(t, "the processes are gone", func() bool { return len(processes(t, temp)) == 0 })
	t.Logf("all gone after %v", time.Since(killed))
}

func TestParentKilledAtStart(t *testing.T) {
	for _, at := range []string{"*", "*/data/PG_VERSION", "*/log", "*/data/postmaster.pid"} {
		t.Run(strings.ReplaceAll(at, "*/", ""), func(t *testing.T) {
			temp := publicTemp(t)
			cmd, _ := child(t)
			await(t, at, func() bool {
				found, _ := filepath.Glob(filepath.Join(temp, at))
				return len(found) > 0
			})
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			await(t, "the directory is removed", func() bool { return empty(temp) })
			await(t, "the processes are gone", func() bool { return len(processes(t, temp)) == 0 })
		})
	}
}

// A server that ends by itself takes its supervisor along, and Stop says so.
func TestServerKilled(t *testing.T) {
	temp := publicTemp(t)
	s, err := Start(t.Context(), Options{Settings: quick})
	if err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var postmaster int
	if _, err := fmt.Sscan(string(pid), &postmaster); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(postmaster, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.process.ended
	var exit *exec.ExitError
	if err := s.Stop(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGKILL) {
		t.Errorf("got %v, want exit status 137", err)
	}
	nothingLeft(t, temp)
}

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}
