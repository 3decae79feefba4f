//go:build unix

package local_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain/cli"
)

// quick makes starts and stops of a test's server cheap: its data is worth nothing. No autovacuum worker keeps it awake:
// that they count is tested by themselves.
var quick = map[string]string{"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off"}

// TestMain makes this test binary be another program where a test says so: ebb, or one that starts a server, says where
// it is, and goes on for ever.
func TestMain(m *testing.M) {
	switch os.Getenv("EBB_TEST_BE") {
	case "":
		// The tests wait more than they work.
		flag.Parse()
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
		if !given {
			flag.Set("test.parallel", "8")
		}
		os.Exit(m.Run())
	case "ebb":
		os.Unsetenv("EBB_TEST_BE")
		os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	signal.Ignore(os.Interrupt)
	s, err := local.Start(context.Background(), local.Options{Settings: quick})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	time.Sleep(time.Hour)
	s.Stop()
}
