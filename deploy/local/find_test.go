//go:build unix

package local

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stub puts programs into dir that say the version and do nothing else.
func stub(t *testing.T, dir, version string, names ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		script := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %s'\n", name, version)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	temp := publicTemp(t)
	at := func(name string) string { return filepath.Join(temp, name) }
	old := stub(t, at("old"), "14.18 (Debian 14.18-1)", "initdb", "postgres")
	oldest := stub(t, at("oldest"), "15.0", "initdb", "postgres")
	newer := stub(t, at("newer"), "17.5 (Homebrew)", "initdb", "postgres")
	newest := stub(t, at("newest"), "19devel", "initdb", "postgres")
	lone := stub(t, at("lone"), "18.1", "postgres")
	mixed := stub(t, stub(t, at("mixed"), "17.5", "postgres"), "14.2", "initdb")
	other := stub(t, at("other"), "of nothing", "initdb", "postgres")

	for _, test := range []struct {
		name   string
		places [][]string
		want   string
		passed string
	}{
		{name: "nowhere"},
		{name: "the first place wins", places: [][]string{{oldest}, {newest}}, want: oldest},
		{name: "the newest of a place", places: [][]string{{oldest, newest, newer}}, want: newest},
		{name: "too old", places: [][]string{{old}, {newer}}, want: newer},
		{name: "only too old", places: [][]string{{old}}, passed: "initdb in " + old + " is PostgreSQL 14, older than 15"},
		{name: "no initdb", places: [][]string{{lone}}, passed: "initdb in " + lone + " does not run"},
		{name: "two versions", places: [][]string{{mixed}}, passed: "initdb in " + mixed + " is PostgreSQL 14"},
		{name: "something else", places: [][]string{{other}}, passed: "initdb in " + other + " is no PostgreSQL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, passed := find(t.Context(), test.places, as)
			if got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
			if all := strings.Join(passed, "\n"); !strings.HasPrefix(all, test.passed) || all != "" && test.want != "" {
				t.Errorf("passed over: %q, want %q", all, test.passed)
			}
		})
	}

	// What the server's user cannot reach is of no use, though this process can.
	if as != nil {
		if err := os.Chmod(newest, 0o700); err != nil {
			t.Fatal(err)
		}
		if got, _ := find(t.Context(), [][]string{{newest, newer}}, as); got != newer {
			t.Errorf("found %q, want %q", got, newer)
		}
	}
}

func TestPlaces(t *testing.T) {
	temp, err := filepath.EvalSymlinks(publicTemp(t))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, dir := range []string{"usr/lib/postgresql/15/bin", "usr/lib/postgresql/18/bin", "usr/pgsql-17/bin",
		"opt/homebrew/opt/postgresql@17/bin", "Applications/Postgres.app/Contents/Versions/16/bin"} {
		want = append(want, stub(t, filepath.Join(temp, dir), "17.5", "initdb", "postgres"))
	}
	stub(t, filepath.Join(temp, "usr/lib/postgresql/16/bin"), "16.1", "pg_config") // a client alone
	if got := installed(temp); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	// A link on PATH stands for the folder that it leads to.
	path := filepath.Join(temp, "path")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	if got := append(onPath(), fromPgConfig(t.Context())...); got != nil {
		t.Errorf("with nothing on PATH: %q", got)
	}
	if err := os.Symlink(filepath.Join(want[0], "postgres"), filepath.Join(path, "postgres")); err != nil {
		t.Fatal(err)
	}
	if got := onPath(); !slices.Equal(got, want[:1]) {
		t.Errorf("got %q, want %q", got, want[:1])
	}
	script := fmt.Sprintf("#!/bin/sh\necho '%s'\n", want[1])
	if err := os.WriteFile(filepath.Join(path, "pg_config"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := fromPgConfig(t.Context()); !slices.Equal(got, want[1:2]) {
		t.Errorf("got %q, want %q", got, want[1:2])
	}
}

func TestBinariesGiven(t *testing.T) {
	dir := stub(t, filepath.Join(publicTemp(t), "bin"), "13.1", "initdb", "postgres")
	if _, err := Start(t.Context(), Options{Binaries: dir}); err == nil || !strings.Contains(err.Error(), "older than 15") {
		t.Errorf("got %v, want that it is too old", err)
	}
}

func TestNoneFound(t *testing.T) {
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	temp := publicTemp(t)
	old := stub(t, filepath.Join(temp, "old"), "14.18", "initdb", "postgres")
	repository := httptest.NewServer(http.NotFoundHandler())
	address := repository.URL
	opt := Options{Repository: address, Cache: filepath.Join(temp, "cache")}

	_, err = findOrDownload(t.Context(), [][]string{{old}}, opt, as)
	want := "no PostgreSQL 15 or newer found (initdb in " + old + " is PostgreSQL 14, older than 15; " +
		"download: no version found matching 17.5.0): install it " +
		"(Debian: apt-get install postgresql; macOS: brew install postgresql@17)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	repository.Close()
	_, err = findOrDownload(t.Context(), nil, opt, as)
	if err == nil || !strings.Contains(err.Error(), "(download: unable to connect to "+address+"): install it") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(opt.Cache); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}
