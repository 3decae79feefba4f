package cli

import (
	"errors"
	"fmt"
	"strings"
	_ "time/tzdata" // an image need not have zones: the program brings its own

	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/schedule"
)

// A planFlags is what plan's own flags say, as text: what is wrong with it is said together with all else.
type planFlags struct {
	runTime, resume, price, maxLatency, from string
	runs                                     int
	fromHistory, allowAlwaysAwake, asJSON    bool
}

func (p *program) planCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan [flags] [CRON...]",
		Short: "Weigh schedules against the database's idle timeout",
		Long: `Show what cron lines do to a database that pauses when it is idle: the next runs, the shortest and the longest gap
between two, how much of the time the database is awake, and a picture of a day. The lines are those given, each quoted,
or those of EBB_SCHEDULE. Several are taken together, for whatever wakes the database, all of it counts: give the lines
of other services too.

A line may name its zone: 'CRON_TZ=Europe/Berlin 0 6 * * *'. Else it is in that of the variable TZ, or in UTC. What the
lines mean is what they mean in Kubernetes.

With --max-latency the cheapest schedule is proposed that has no longer gap. The lines given are then those of other
services; their minutes are shared where that saves awake time. The proposal is compared with the plain line, and with
EBB_SCHEDULE where that is set.

No database is asked, unless --from-history is given. Exit status: 0, or 78 where the database never sleeps.`,
		Example: `  ebb plan '*/30 * * * *' --compute neon
  ebb plan '*/15 6-22 * * *' '5 3 * * *' --idle-timeout 10m --price 0.0265
  ebb plan --max-latency 1h '17 */2 * * *' --compute aurora`,
		Args: unquoted,
	}
	by := settingFlags(c)
	var f planFlags
	flags := c.Flags()
	flags.StringVar(&f.runTime, "run-time", "", "how long a run takes (default: 30s, or that of --from-history)")
	flags.StringVar(&f.resume, "resume", "", "how long the database takes to resume (default: the preset's, or 1s)")
	flags.StringVar(&f.price, "price", "", "what an hour awake costs, for example 0.0265")
	flags.StringVar(&f.maxLatency, "max-latency", "", "propose the cheapest schedule with no longer gap than this, for example 1h")
	flags.BoolVar(&f.fromHistory, "from-history", false, "take run times from the runs in the database, and compare their gaps with the schedule")
	flags.StringVar(&f.from, "from", "", "begin at this time instead of now, for example 2026-03-01 or 2026-03-01T12:00:00Z")
	f.runs = 12
	p.number(flags, &f.runs, "runs", "how many of the next runs to show")
	flags.BoolVar(&f.allowAlwaysAwake, "allow-always-awake", false, "exit 0 also where the database never sleeps")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		config, database, _, err := p.settings(*by, nil, f.fromHistory)
		plan, mistakes := p.planned(config, f, args)
		if mistakes = append([]error{err}, mistakes...); errors.Join(mistakes...) != nil {
			return asUsage(errors.Join(mistakes...))
		}
		if f.fromHistory {
			if err := p.readHistory(c.Context(), config, database, &plan); err != nil {
				return err
			}
		}
		r, err := plan.report()
		if err != nil {
			return asUsage(err)
		}
		if f.asJSON {
			err = r.printJSON(p.stdout)
		} else {
			err = r.print(p.paper())
		}
		never := r.Together
		if !never.NeverSleeps && r.Proposal != nil {
			never = r.Proposal.Together
		}
		if err == nil && never.NeverSleeps && !f.allowAlwaysAwake {
			fmt.Fprintf(p.stderr, "ebb: %s; --allow-always-awake takes it as it is\n", never.Warnings[0].Text)
			return answered(refused)
		}
		return err
	}
	return c
}

// unquoted notices the stars that a shell took for files.
func unquoted(_ *cobra.Command, args []string) error {
	if len(args) < 5 {
		return nil
	}
	for _, arg := range args {
		if strings.Contains(strings.TrimSpace(arg), " ") || strings.HasPrefix(arg, "@") {
			return nil
		}
	}
	return errors.New("a cron line is one argument, in quotes: ebb plan '*/30 * * * *'")
}

func parseSchedules(text string) (schedule.Set, error) {
	set, err := schedule.ParseLines(text)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return set, nil
}

// A computeName is the name of a preset.
type computeName string

func parseCompute(text string) (computeName, error) {
	if _, ok := schedule.Preset(strings.ToLower(text)); ok {
		return computeName(strings.ToLower(text)), nil
	}
	var names []string
	for _, c := range schedule.Presets() {
		names = append(names, c.Name)
	}
	return "", fmt.Errorf("there is no preset %q, but %s; for any other set EBB_IDLE_TIMEOUT", text, strings.Join(names, ", "))
}
