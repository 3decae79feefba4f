package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// helpCommand is cobra's, which takes a command that does not exist for none.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Help about any command",
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err == nil {
				err = knownCommand(about, rest)
			}
			if err != nil {
				return asUsage(err)
			}
			about.InitDefaultHelpFlag() // else they are not in the help
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// groupHelp lists the settings of a single queue, which are variables only.
func groupHelp() string {
	var b strings.Builder
	b.WriteString("Settings of a queue, from the environment:\n")
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, s := range groupSettings() {
		text := s.Help
		if s.Default != "" {
			text += " (default: " + s.Default + ")"
		}
		fmt.Fprintf(w, "  %s\t%s\n", s.Variable, text)
	}
	w.Flush()
	return b.String()
}
