package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The file of the token is read again at every call.
func TestServeTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(rightToken + "\n")
	s := serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_ADDR": "127.0.0.1:0", "EBB_CONNECT_TIMEOUT": "10ms"}, nil,
		"serve", "--token-file", path, "--", "sh")
	if r := s.ask("POST", "/run", ""); r.status != 401 {
		t.Errorf("%+v", r)
	}
	if r := s.run(); r.status != 500 || r.exit != "1" {
		t.Errorf("%+v", r)
	}
	write("another-token-of-length")
	if r := s.run(); r.status != 401 {
		t.Errorf("the old token: %+v", r)
	}
	if r := s.ask("POST", "/run", "another-token-of-length"); r.status != 500 || r.exit != "1" {
		t.Errorf("the new token: %+v", r)
	}
	write("short")
	if r := s.ask("POST", "/run", "short"); r.status != 503 || r.exit != "" {
		t.Errorf("a token that is none: %+v", r)
	}
	if !strings.Contains(s.stderr.String(), "the token in --token-file is shorter") || strings.Contains(s.stderr.String(), rightToken) {
		t.Errorf("the log: %s", s.stderr)
	}
	s.signals <- os.Interrupt
	if got := s.end(t, 5*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("exit %d: %s", got.status, got.stdout)
	}
}
