package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed829e008e/ebb/deploy/lambda"
)

// tree is the command tree, made anew for every call: it holds what the flags say.
func (p *program) tree(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "ebb",
		Short: "Drain a job queue in Postgres, and let the database sleep in between",
		Long: `ebb drains a job queue that lives in one Postgres table, in short runs that a scheduler starts. A run takes what is
due, hands every job to its queue's handler, settles it, says what happened and exits, so that a database which
pauses when nobody is connected can do so in between.

Start with: ebb demo`,
		Version:       Version(),
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
	}
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for those of the process
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(p.runCommand(), p.migrateCommand(), p.enqueueCommand(), p.statusCommand(), p.tryCommand(),
		p.planCommand(), p.awakeCommand(), p.manifestCommand(), p.serveCommand(), p.demoCommand(), p.versionCommand())
	for _, c := range root.Commands() {
		c.DisableFlagsInUseLine = true
		c.FParseErrWhitelist.UnknownFlags = true // they are told together with all else
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error { return p.typedWrong(c, args, check(c, args)) }
		}
	}
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return wrong("there is no command %q; did you mean %s?", args[0], near[0])
		}
		if strings.Contains(args[0], "://") { // it may hold a secret
			return wrong("a URL is no command; set DATABASE_URL, and see ebb --help")
		}
		return wrong("there is no command %q; see ebb --help", args[0])
	}
	root.RunE = func(c *cobra.Command, _ []string) error {
		if environment(p.environ)[lambda.Variable] != "" {
			return p.lambda(c.Context())
		}
		if onCloudRun(environment(p.environ)) {
			return p.cloudRun(c.Context())
		}
		return c.Help()
	}
	return root
}

// typedWrong keeps what is wrong with the command line, to be said together with what is wrong with the settings. For
// commands that have none it is the error at once.
func (p *program) typedWrong(c *cobra.Command, args []string, err error) error {
	p.typed = append(p.typed, p.unknownFlags(c)...)
	if err != nil {
		p.typed = append(p.typed, err)
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		_, isSetting := f.Value.(*settingFlag)
		if !isSetting && f.Name != "queue" && blank(f.Value.String()) {
			p.typed = append(p.typed, blankFlag(f.Name))
		}
	})
	before, _ := atDash(c, args)
	for i, arg := range before {
		if blank(arg) {
			p.typed = append(p.typed, fmt.Errorf("argument %d of %s is blank; give it a value, or leave it out", i+1, c.Name()))
		}
	}
	if c.Flags().Lookup("log") != nil || c.Name() == "try" {
		return nil
	}
	return asUsage(errors.Join(p.typed...))
}

// A numberFlag is the flag of a number. What it cannot read is said together with all else.
type numberFlag struct {
	p    *program
	name string
	into *int
}

func (p *program) number(flags *pflag.FlagSet, into *int, name string, usage string) {
	flags.Var(&numberFlag{p, name, into}, name, usage)
}

func (f *numberFlag) Set(text string) error {
	n, err := parseCount(strings.TrimSpace(text))
	switch {
	case blank(text):
		f.p.typed = append(f.p.typed, blankFlag(f.name))
	case err != nil:
		f.p.typed = append(f.p.typed, fmt.Errorf("--%s: %w", f.name, err))
	default:
		*f.into = n
	}
	return nil
}

func (f *numberFlag) String() string {
	if f.into == nil {
		return "0"
	}
	return strconv.Itoa(*f.into)
}
func (f *numberFlag) Type() string { return "int" }

// noArguments is cobra.NoArgs with an error that takes nothing for a command.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments; see %s --help", c.Name(), c.CommandPath())
	}
	return nil
}

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage{err}
}

// unknownFlags names the flags that the command does not have, each with the nearest that it has.
func (p *program) unknownFlags(c *cobra.Command) (mistakes []error) {
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	for i := 0; i < len(p.args) && p.args[i] != "--"; i++ {
		name, _, hasValue := strings.Cut(strings.TrimLeft(p.args[i], "-"), "=")
		if !strings.HasPrefix(p.args[i], "-") || name == "" {
			continue
		}
		f := c.Flags().Lookup(name)
		if !strings.HasPrefix(p.args[i], "--") {
			f = c.Flags().ShorthandLookup(name[:1])
		}
		if f != nil {
			if !hasValue && f.NoOptDefVal == "" {
				i++ // what comes next is its value
			}
			continue
		}
		hint := "see " + c.CommandPath() + " --help"
		if near := nearest(name, known); near != "" {
			hint = "did you mean --" + near + "?"
		}
		mistakes = append(mistakes, fmt.Errorf("unknown flag: %s; %s", strings.TrimSuffix(p.args[i], strings.TrimLeft(p.args[i], "-"))+name, hint))
	}
	return mistakes
}

// flagError says what is wrong with a flag that there is.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && value.GetFlag() != nil {
		if blank(value.GetValue()) {
			return usage{blankFlag(value.GetFlag().Name)}
		}
		return wrong("--%s: %q is neither true nor false", value.GetFlag().Name, value.GetValue())
	}
	return usage{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
}

// settingFlags gives the command a flag for every setting that it takes, and where what they say will be found.
func settingFlags(c *cobra.Command) *given {
	by := &given{flags: map[string]string{}}
	c.Flags().SortFlags = false
	for _, s := range configSettings() {
		if s.isOn(c.Name()) {
			f := c.Flags().VarPF(&settingFlag{s, by}, s.Flag, "", s.usage())
			if s.kind.Name() == "bool" {
				f.NoOptDefVal = "true"
			}
		}
	}
	return by
}

// A settingFlag is the flag of a setting. It takes any text: what is wrong with it is said together with all else.
type settingFlag struct {
	Setting
	by *given
}

func (f *settingFlag) Set(text string) error {
	if was, is := f.by.flags[f.Variable]; !is || !blank(was) { // given twice, it is blank if one of them is
		f.by.flags[f.Variable] = text
	}
	return nil
}

func (f *settingFlag) String() string { return "" } // no default: the help has it in words

// Type is what the help calls the value.
func (f *settingFlag) Type() string {
	switch f.kind.Name() {
	case "Duration":
		return "duration"
	case "list":
		return "names"
	case "int":
		return "number"
	case "bool":
		return "bool"
	}
	return "string"
}

func (s Setting) usage() string {
	text := s.Help
	if s.Default != "" {
		text += "; " + s.Default
	}
	return fmt.Sprintf("%s [%s]", strings.Replace(text, "; "+s.Default, " (default: "+s.Default+")", 1), s.Variable)
}
