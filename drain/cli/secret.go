package cli

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// A Secret is a value that is never printed, in whole or in part: by no verb of fmt, by no log, as no JSON. It keeps
// the value in a closure, so that not even what prints unexported fields gets at it.
type Secret struct{ reveal func() string }

func secret(value string) Secret { return Secret{func() string { return value }} }

// isSet says whether there is a value.
func (s Secret) isSet() bool { return s.reveal != nil }

func (Secret) String() string             { return redacted }
func (Secret) GoString() string           { return redacted }
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }
func (Secret) LogValue() slog.Value       { return slog.StringValue(redacted) }

// MarshalText serves JSON too.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
