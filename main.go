// Ebb drains a job queue that lives in a Postgres table, in short scheduled runs, so that a serverless compute can pause
// between them. The package cli has the commands, for programs with handlers in Go too.
package main

import (
	"os"

	"github.com/seed829e008e/ebb/drain/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
