package command

import (
	"errors"

	"github.com/kballard/go-shellquote"
)

// Split splits a command line as a POSIX shell would, quotes and backslashes included, and expands nothing. Its errors
// say what is wrong with the line without repeating it, for it may hold secrets.
func Split(line string) ([]string, error) {
	args, err := shellquote.Split(line)
	switch {
	case errors.Is(err, shellquote.UnterminatedSingleQuoteError):
		return nil, errors.New("a single quote (') is never closed")
	case errors.Is(err, shellquote.UnterminatedDoubleQuoteError):
		return nil, errors.New(`a double quote (") is never closed`)
	case errors.Is(err, shellquote.UnterminatedEscapeError):
		return nil, errors.New(`it ends in a backslash (\) with nothing behind it`)
	case err != nil:
		return nil, err
	case len(args) == 0:
		return nil, errors.New("the command is empty")
	case args[0] == "":
		return nil, errors.New("the command's first word, the program, is empty")
	}
	return args, nil
}
