// Package local is a Postgres on this machine, for the demo and the tests: made, started and removed again by the
// program that wants it.
//
//	server, err := local.Start(ctx, local.Options{})
//	...
//	defer server.Stop()
//	conn, err := pgx.Connect(ctx, server.URL())
//
// A [Compute] is one that pauses when nothing keeps it awake and resumes when somebody connects, as a serverless one
// does, and that counts how long it was awake.
//
// The server binaries are those of this machine where there are any, else they are downloaded once into the user's
// cache (see [Options]). Nothing of a server outlives the program that started it, however that ends:
//
//	this program ──pipe──▶ sh ──child──▶ postgres     supervise.go: the pipe ends, the server is stopped
//	      │                 │                │
//	      └───────pipe──────┴───────┬────────┘
//	                                ▼
//	                               sh                 directory.go: nobody holds the pipe, the directory is removed
//
// The kernel closes the pipes of a process that is killed, so this holds for kill -9 too. It does not hold where the
// two shells are killed as well: at a power cut, or when a container or control group is killed as a whole.
//
// The server listens on 127.0.0.1 alone, on a port that was free, and lets nobody in without a random password: other
// users of the machine reach the port, and a superuser of Postgres can run any command as the user whose server it is.
// Postgres refuses to run as root; for root it runs as the user postgres, or nobody where there is none.
//
// On Windows [Start] only says that it is not supported.
package local

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
)

// Options say which server is started, and how. The zero value is a good one.
type Options struct {
	// Binaries is a folder that holds initdb and postgres, 15 or newer. Empty: the first of PATH, pg_config --bindir
	// and where distributions and Homebrew put them that has such a version, the newest where one place has several;
	// else they are downloaded.
	Binaries string
	// Settings are server settings in the form that postgres -c takes. They win over those that this package chooses.
	Settings map[string]string
	// Env is added to the server's environment, which is bare otherwise.
	Env []string
	// Cache is the folder that downloaded binaries are kept in. Empty: ebb in the user's cache folder, and
	// /var/cache/ebb for root, because the user that runs root's server must reach it.
	Cache string
	// Repository is the URL of a Maven repository to download from, instead of the public one.
	Repository string
	// Log is told about downloads (information) and starts (debug). Nil: nobody is.
	Log *slog.Logger

	downloaded *bool // set when there was a download; may be nil
}

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// A Server is a running Postgres. Keep it as long as the server is wanted: it holds the pipes that keep it alive.
type Server struct {
	binaries string
	settings map[string]string
	env      []string
	account  *account
	password string

	// The directory lives from Start to Stop. The process is apart from it, so that a server can be stopped and
	// started again on the same data.
	dir     *directory
	process *process // nil where it did not come up
	port    int

	stopping sync.Once
	stopped  error
}

// URL is where the server listens, as the superuser postgres, in the database postgres. It holds the password.
func (s *Server) URL() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     fmt.Sprintf("127.0.0.1:%d", s.port),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Stop ends all sessions, stops the server and removes its data. It returns when both are gone; called again, it only
// returns what it returned before.
func (s *Server) Stop() error {
	s.stopping.Do(func() {
		if s.process != nil {
			s.stopped = s.process.stop()
		}
		s.stopped = errors.Join(s.stopped, s.dir.release())
	})
	return s.stopped
}
