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
	write("two words")
	if r := s.ask("POST", "/run", "two words"); r.status != 503 || r.exit != "" {
		t.Errorf("a token that is none: %+v", r)
	}
	if !strings.Contains(s.stderr.String(), "the token in --token-file has white space") || strings.Contains(s.stderr.String(), rightToken) {
		t.Errorf("the log: %s", s.stderr)
	}
	s.signals <- os.Interrupt
	if got := s.end(t, 5*time.Second); got.status != 0 || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("exit %d: %s", got.status, got.stdout)
	}
}

// serve says of itself when nothing can start a run, or anybody might.
func TestServeWithoutAGoodToken(t *testing.T) {
	for _, test := range []struct{ token, want string }{
		{"", "nothing will ever start a run: set EBB_SCHEDULE"},
		{" ", "nothing will ever start a run: set EBB_SCHEDULE"},
		{"short", "the token is short enough to be guessed"},
	} {
		s := serving(t, map[string]string{"DATABASE_URL": nowhere, "EBB_ADDR": "127.0.0.1:0", "EBB_TOKEN": test.token}, nil, "serve", "--", "sh")
		if r := s.ask("POST", "/run", "none"); r.status != 401 && r.status != 403 {
			t.Errorf("%q: %+v", test.token, r)
		}
		s.signals <- os.Interrupt
		if got := s.end(t, 5*time.Second); got.status != 0 || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%q: exit %d: %s", test.token, got.status, got.stderr)
		}
	}
}
