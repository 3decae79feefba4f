// Worker is a program with a handler in Go.
package main

import (
	"context"
	"os"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr,
		drain.Queue{Name: "email", Handler: func(context.Context, drain.Job) error { return nil }}))
}
