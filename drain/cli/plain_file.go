package cli

import (
	"errors"
	"fmt"
	"os"
)

// errNotPlain refuses what could hold a read up for ever, as a named pipe without a writer does.
var errNotPlain = errors.New("it is a directory, a pipe, a socket or a device; name a plain file")

// checkPlain refuses what is there and is no plain file. A link to one is fine.
func checkPlain(path string) error {
	if about, err := os.Stat(path); err == nil && !about.Mode().IsRegular() {
		return errNotPlain
	}
	return nil
}

// readPlain reads a plain file.
func readPlain(path string) ([]byte, error) {
	if err := checkPlain(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// wrongFiles looks at the files that pgx reads for a connection: those that the text names, else those that the
// environment does. The names are not repeated: they may be half a password.
func wrongFiles(where, text string) error {
	written := writtenIn(text)
	for _, keyword := range []string{"passfile", "servicefile", "sslrootcert", "sslcert", "sslkey"} {
		p, _ := byKeyword(keyword)
		said, path := where+": "+keyword, written[keyword]
		if path == "" {
			said, path = p.variable, os.Getenv(p.variable)
		}
		if err := checkPlain(path); path != "" && err != nil {
			return fmt.Errorf("%s: %w", said, err)
		}
	}
	return nil
}
