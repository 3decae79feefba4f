package schema

import (
	"errors"
	"fmt"
)

// ErrRefused is in the chain of every error that the user has to mend, by another setting, another program or a change
// to the database: a bad name, a table that is not ebb's, a schema newer than this program, a missing privilege. What
// is not ErrRefused is trouble with the database.
var ErrRefused = errors.New("refused")

type refusal struct {
	text  string
	cause error
}

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Unwrap() error        { return r.cause }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

// refuse makes an error of the user's to mend. An error among the arguments that is formatted by %w stays in the chain.
func refuse(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &refusal{text: err.Error(), cause: errors.Unwrap(err)}
}
