package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

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
