package local

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// oldest is the oldest major version that ebb supports.
const oldest = 15

// Binaries is the folder of the server binaries that [Start] would use, for who starts several servers, and says whether
// they had to be downloaded.
func Binaries(ctx context.Context, opt Options) (dir string, downloaded bool, err error) {
	as, err := serverAccount()
	if err != nil {
		return "", false, err
	}
	opt.downloaded = &downloaded
	dir, err = binaries(ctx, opt, as)
	return dir, downloaded, err
}

// binaries is the folder of the server binaries to use.
func binaries(ctx context.Context, opt Options, as *account) (string, error) {
	if opt.Binaries != "" {
		dir, err := filepath.Abs(opt.Binaries)
		if err != nil {
			return "", err
		}
		_, err = version(ctx, dir, as)
		return dir, err
	}
	return findOrDownload(ctx, [][]string{onPath(), fromPgConfig(ctx), installed("/")}, opt, as)
}

func findOrDownload(ctx context.Context, places [][]string, opt Options, as *account) (string, error) {
	dir, passed := find(ctx, places, as)
	if dir != "" {
		return dir, nil
	}
	if ctx.Err() != nil { // then they may have been passed over for nothing else
		return "", context.Cause(ctx)
	}
	dir, err := download(ctx, opt, as)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		passed = append(passed, fmt.Sprintf("download: %v", err))
		return "", fmt.Errorf("no PostgreSQL %d or newer found (%s): install it "+
			"(Debian: apt-get install postgresql; macOS: brew install postgresql@17)",
			oldest, strings.Join(passed, "; "))
	}
	return dir, nil
}

// find returns the newest usable folder of the first place that has one. Where none has, it returns why those that
// looked like it were passed over.
func find(ctx context.Context, places [][]string, as *account) (dir string, passed []string) {
	for _, place := range places {
		newest := 0
		for _, candidate := range place {
			major, err := version(ctx, candidate, as)
			if err != nil {
				passed = append(passed, err.Error())
			} else if major > newest {
				dir, newest = candidate, major
			}
		}
		if dir != "" {
			return dir, nil
		}
	}
	return "", passed
}

// version is the major version of the binaries in dir, or why they are of no use. They are run as the account, which
// may not reach what this process reaches.
func version(ctx context.Context, dir string, as *account) (int, error) {
	var major int
	for _, name := range []string{"initdb", "postgres"} {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, name), "--version")
		cmd.Dir, cmd.Env = "/", environment()
		as.confine(cmd)
		out, err := cmd.Output()
		if err != nil {
			return 0, fmt.Errorf("%s in %s does not run: %w", name, dir, err)
		}
		// "postgres (PostgreSQL) 17.5 (Debian 17.5-1)", "initdb (PostgreSQL) 19devel"
		_, number, _ := strings.Cut(string(out), "(PostgreSQL) ")
		if _, err := fmt.Sscanf(number, "%d", &major); err != nil {
			return 0, fmt.Errorf("%s in %s is no PostgreSQL: its version is %q", name, dir, strings.TrimSpace(string(out)))
		}
		if major < oldest {
			return 0, fmt.Errorf("%s in %s is PostgreSQL %d, older than %d", name, dir, major, oldest)
		}
	}
	return major, nil
}

// onPath looks for postgres on PATH. Distributions keep servers off it and link single programs there, so the folder
// that a link leads to is the one that counts.
func onPath() []string {
	path, err := exec.LookPath("postgres")
	if err != nil {
		return nil
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil
	}
	return []string{filepath.Dir(path)}
}

// fromPgConfig asks pg_config. It comes with the client library, so there may be no server where it points: only a
// folder that has one is a candidate.
func fromPgConfig(ctx context.Context) []string {
	out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output()
	if err != nil {
		return nil
	}
	return withServer(filepath.Join(strings.TrimSpace(string(out)), "postgres"))
}

// installed looks where distributions, Homebrew and Postgres.app put servers. The root is "/", except in tests.
func installed(root string) []string {
	var dirs []string
	for _, pattern := range []string{
		"usr/lib/postgresql/*/bin",
		"usr/pgsql-*/bin",
		"usr/libexec/postgresql*",
		"opt/homebrew/opt/postgresql@*/bin",
		"usr/local/opt/postgresql@*/bin",
		"home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		dirs = append(dirs, withServer(filepath.Join(root, pattern, "postgres"))...)
	}
	return dirs
}

// withServer returns the folders of the files that the pattern matches.
func withServer(pattern string) []string {
	files, _ := filepath.Glob(pattern)
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}
