package cli

import "github.com/spf13/cobra"

// A dash is the command line behind --: the handler of the queues that are named, whatever else is set for them.
type dash []string

// atDash divides what was typed into what is before -- and the command after it, nil where there is none.
func atDash(c *cobra.Command, args []string) (before []string, behind dash) {
	at := c.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	if at < len(args) {
		behind = args[at:]
	}
	return args[:at], behind
}

// nothingButDash is [noArguments] for commands that take another one behind --.
func nothingButDash(c *cobra.Command, args []string) error {
	if before, _ := atDash(c, args); len(before) > 0 {
		return wrong("%s takes no arguments but a command behind --: %s --queue email -- ./send-email", c.Name(), c.CommandPath())
	}
	return nil
}

// drainFlags are the flags of a command that says which queues are drained: those of its settings, and --queue.
func drainFlags(c *cobra.Command) *given {
	by := settingFlags(c)
	c.Flags().StringArrayVar(&by.queues, "queue", nil, "which queues to drain, in order; comma-separated or repeated, a comma of a name as \\, (default: configured ones, by name) [EBB_QUEUES]")
	return by
}
