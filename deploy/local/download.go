package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// wanted is the version that is downloaded where there is none.
const wanted = embeddedpostgres.V17

// download returns the folder of downloaded binaries, which are kept in a cache. They are fetched and unpacked beside
// their place and then renamed, so that of several processes at once one wins and none sees half a server.
func download(ctx context.Context, opt Options, as *account) (string, error) {
	cache, err := cacheDir(opt, as)
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "postgresql-"+string(wanted))
	bin := filepath.Join(home, "bin")
	if _, err := os.Stat(home); err == nil {
		_, err := version(ctx, bin, as)
		return bin, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	defer os.Remove(cache) // where nothing came of it
	temp, err := os.MkdirTemp(cache, "download-")
	if err != nil {
		return "", err
	}
	opt.log().Info("downloading PostgreSQL", "version", wanted, "into", home)

	// The library knows no context. What is left behind fetches on, at most until this process ends, and then removes
	// what it got.
	fetched := make(chan error, 1)
	go func() {
		fetched <- fetch(temp, opt.Repository)
		if ctx.Err() != nil {
			os.RemoveAll(temp)
			os.Remove(cache)
		}
	}()
	defer os.RemoveAll(temp)
	select {
	case err = <-fetched:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(temp, "postgres"), home); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if opt.downloaded != nil {
		*opt.downloaded = true
	}
	_, err = version(ctx, bin, as)
	return bin, err
}

// fetch downloads and unpacks the binaries into the folder postgres in temp. The library has no call for that alone.
// Its Start does it first, then clears the data directory, and is stopped there by a name that no file can have: no
// server of its own is started. It leaves an empty log in the folder for temporary files, once a download.
func fetch(temp, repository string) error {
	postgres := filepath.Join(temp, "postgres")
	config := embeddedpostgres.DefaultConfig().
		Version(wanted).
		Port(0).
		CachePath(temp).
		RuntimePath(postgres).
		DataPath("no data directory\x00").
		Logger(io.Discard)
	if repository != "" {
		config = config.BinaryRepositoryURL(repository)
	}
	err := embeddedpostgres.NewDatabase(config).Start()
	for _, name := range []string{"initdb", "postgres"} {
		if _, statErr := os.Stat(filepath.Join(postgres, "bin", name)); statErr != nil {
			return cmp.Or(err, statErr)
		}
	}
	// Temporary folders are made for one user; the server may run as another.
	return os.Chmod(postgres, 0o755)
}

// cacheDir is where downloaded binaries are kept.
func cacheDir(opt Options, as *account) (string, error) {
	if opt.Cache != "" {
		return filepath.Abs(opt.Cache)
	}
	if as != nil {
		return "/var/cache/ebb", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep it in: %w", err)
	}
	return filepath.Join(dir, "ebb"), nil
}
