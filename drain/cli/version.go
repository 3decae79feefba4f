package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/schema"
)

const module = "github.com/seed829e008e/ebb"

// Version is ebb's own, also inside of a program that embeds it: the module's where it was built from a release, else
// the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	own := info.Main
	for _, dep := range info.Deps {
		if dep.Path == module {
			own = *dep
		}
	}
	if own.Path == module && own.Version != "" && own.Version != "(devel)" {
		return own.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && info.Main.Path == module {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

func (p *program) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "Print the versions of ebb, Go and the schema",
		Args:  noArguments,
	}
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(*cobra.Command, []string) error {
		v := versionJSON{Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, schema.Version}
		if *asJSON {
			return printJSON(p.stdout, v)
		}
		_, err := fmt.Fprintf(p.stdout, "ebb %s\n%s %s/%s\nschema %d\n", v.Ebb, v.Go, v.OS, v.Arch, v.Schema)
		return err
	}
	return c
}

// A versionJSON is what version --json prints.
type versionJSON struct {
	Ebb    string `json:"ebb"`
	Go     string `json:"go"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Schema int    `json:"schema"` // the version of the tables that this ebb works on
}
