package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/deploy"
	"github.com/seed829e008e/ebb/schedule"
)

// A target is a platform that starts runs, and what makes its files.
type target struct {
	name         string
	make         func(deploy.Job) ([]deploy.File, error)
	images, pods bool // it takes them
}

var targets = []target{
	{"kubernetes", deploy.Kubernetes, true, true}, {"systemd", deploy.Systemd, false, false}, {"lambda", deploy.Lambda, true, false},
	{"cloudrun", deploy.CloudRun, true, false}, {"github", deploy.GitHub, true, false},
}

func (p *program) manifestCommand() *cobra.Command {
	var names []string
	for _, t := range targets {
		names = append(names, t.name)
	}
	c := &cobra.Command{
		Use:   "manifest " + strings.Join(names, "|") + " [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Print the files a scheduler needs to start runs",
		Long: `Print the files with which a platform starts runs by EBB_SCHEDULE, from the same settings that run reads. Limits that are
not set are derived from the shortest gap of the schedule: job timeout + grace < EBB_MAX_RUNTIME < the platform's limit
< gap. What does not fit, and a schedule that the platform does not know, is refused.

DATABASE_URL is referred to and never printed: it comes from the platform's own store, under the name that --name gives,
and the files say how to put it there. The handlers' command lines are printed as they are: keep secrets out of them. Those
that a run would not find there, being relative or in a directory that it does not see, are refused.

Where handlers are in the program itself, --program says what it is on the platform: its path on the machine (systemd), in
the image, or for lambda on this machine; the main package in the repository (github, without an image).`,
		Example: `  EBB_SCHEDULE='*/20 * * * *' EBB_QUEUE_EMAIL_COMMAND=/app/send-email ebb manifest kubernetes --image registry.example.com/shop-jobs:3
  ebb manifest systemd --schedule '*/20 * * * *' --output . --queue email -- /usr/local/bin/send-email`,
		ValidArgs: names,
		Args: func(c *cobra.Command, args []string) error {
			if before, _ := atDash(c, args); len(before) != 1 || !slices.Contains(names, before[0]) {
				return fmt.Errorf("manifest needs a platform: %s", strings.Join(names, ", "))
			}
			return nil
		},
	}
	by := drainFlags(c)
	flags := c.Flags()
	f := manifestFlags{}
	flags.StringVar(&f.name, "name", "ebb", "name of what is made, and of the secret that it refers to")
	flags.StringVar(&f.image, "image", "", "container image with ebb as its entry point, and the commands in it")
	flags.StringVar(&f.program, "program", "", "program with the handlers: its path there, or its Go package (github)")
	f.pods = 1
	p.number(flags, &f.pods, "pods", "kubernetes: pods that work on a backlog side by side")
	flags.StringVar(&f.output, "output", "", "write the files into this directory instead of printing them")
	c.RunE = func(c *cobra.Command, args []string) error {
		before, behind := atDash(c, args)
		var t target // none where the platform is one of the mistakes
		if i := slices.Index(names, append(slices.Clone(before), "")[0]); i >= 0 {
			t = targets[i]
		}
		return p.manifest(t, *by, behind, f)
	}
	return c
}

// A manifestFlags is what manifest's own flags say.
type manifestFlags struct {
	name, image, program, output string
	pods                         int
}

// goodName is what every platform takes for a name; 52 is the most that a CronJob may have.
var goodName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,50}[a-z0-9])?$`)

func (p *program) manifest(t target, by given, behind dash, f manifestFlags) error {
	c, _, queues, err := p.settings(by, behind, false)
	job, mistakes := p.job(c, by, behind, f)
	drained, wrong := c.drained(queues, behind, by.named())
	mistakes = append(append(mistakes, wrong...), c.wrongBackoffs(p, queues)...)
	if t.name != "" {
		job.Program = programOf(drained, f.program)
		for _, q := range drained {
			if q.args != nil {
				job.Commands = append(job.Commands, deploy.Command{Setting: q.origin, Args: q.args})
			}
		}
		mistakes = append(mistakes, job.Startable(t.name))
	}
	if t.name != "" && f.image != "" && !t.images {
		mistakes = append(mistakes, fmt.Errorf("--image: %s starts no images; leave it out", t.name))
	}
	if t.name != "" && f.pods > 1 && !t.pods {
		mistakes = append(mistakes, fmt.Errorf("--pods: %s has none; leave it out, and raise EBB_CONCURRENCY for more jobs at once", t.name))
	}
	if mistakes = append([]error{err}, mistakes...); errors.Join(mistakes...) != nil {
		return asUsage(errors.Join(mistakes...))
	}
	files, err := t.make(job)
	if err != nil {
		return asUsage(fmt.Errorf("%s: %w", t.name, err))
	}
	log := p.logger(c)
	for _, text := range job.Assumed(t.name) {
		log.Warn(text)
	}
	p.warnOfSchedule(job, log)
	p.warnNeverSleeps(c, log)
	if len(queues) == 0 && behind == nil {
		log.Warn("no queue has a handler in these settings, so that runs will be refused; set for example EBB_QUEUE_EMAIL_COMMAND=./send-email")
	}
	return p.deliver(files, f.output)
}

// programOf is what runs have to start: a program with handlers in Go knows its own name.
func programOf(drained []queue, named string) deploy.Program {
	program := deploy.Program{Path: named}
	if slices.ContainsFunc(drained, func(q queue) bool { return q.Handler != nil }) {
		program.Handlers = true
		program.Own = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
		if info, ok := debug.ReadBuildInfo(); ok {
			program.Package = info.Path
		}
	}
	return program
}

// job is what the settings come to, and all that is wrong with them for a manifest.
func (p *program) job(c Config, by given, behind dash, f manifestFlags) (deploy.Job, []error) {
	var mistakes []error
	environ := environment(p.environ)
	zone, _, err := zoneOf(environ)
	if err != nil {
		mistakes = append(mistakes, err)
	}
	if len(c.Schedule) == 0 && blank(environ["EBB_SCHEDULE"]) && blank(by.flags["EBB_SCHEDULE"]) {
		mistakes = append(mistakes, errors.New("EBB_SCHEDULE is not set; set when runs start, for example to '*/30 * * * *'"))
	}
	if !goodName.MatchString(f.name) {
		mistakes = append(mistakes, fmt.Errorf("--name: %q is not lower-case letters, digits and dashes, at most 52 of them, a letter first", f.name))
	}
	if f.pods < 1 || f.pods > 1000 {
		mistakes = append(mistakes, fmt.Errorf("--pods: %d is not from 1 to 1000", f.pods))
	}
	if strings.ContainsFunc(f.image, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }) {
		mistakes = append(mistakes, fmt.Errorf("--image: %q is not the name of an image", f.image))
	}
	job := deploy.Job{
		Name: f.name, Image: f.image, Pods: f.pods, From: p.started, Args: []string{"run"}, Schedule: c.Schedule.In(zone),
		Asked: deploy.Asked{MaxRuntime: c.MaxRuntime, Grace: c.Grace, JobTimeout: c.JobTimeout},
	}
	for _, q := range slices.Sorted(maps.Keys(c.Groups)) {
		if d := c.Groups[q].Timeout; d > 0 {
			job.Asked.Queues = append(job.Asked.Queues, deploy.QueueTimeout{Setting: groupPrefix + q + "_TIMEOUT", Timeout: d})
		}
	}
	if behind != nil {
		for _, name := range by.queues {
			job.Args = append(job.Args, "--queue", name)
		}
		job.Args = append(append(job.Args, "--"), behind...)
	}
	job.Settings = deployed(environ, by, behind, job.Schedule)
	return job, mistakes
}

// isLeftOut knows the settings that a manifest says in another way, or not at all, and all secrets.
func (s Setting) isLeftOut() bool {
	saidElsewhere := []string{"DATABASE_URL_FILE", "EBB_MAX_RUNTIME", "EBB_GRACE", "EBB_JOB_TIMEOUT", "EBB_ADDR", "EBB_TOKEN_FILE"}
	return s.kind == reflect.TypeFor[Secret]() || slices.Contains(saidElsewhere, s.Variable)
}

// deployed are the settings that are set, as text, for the environment of the runs.
func deployed(environ map[string]string, by given, behind dash, set schedule.Set) (all []deploy.Variable) {
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			all = append(all, deploy.Variable{Name: name, Value: value})
		}
	}
	for _, s := range configSettings() {
		value := environ[s.Variable]
		if flag := by.flags[s.Variable]; !blank(flag) {
			value = flag
		}
		switch {
		case s.isLeftOut():
			continue
		case s.Variable == "EBB_QUEUES" && len(by.queues) > 0:
			if value = strings.Join(by.queues, ","); behind != nil {
				continue
			}
		case s.Variable == "EBB_SCHEDULE":
			value = set.WithZones().String()
		}
		add(s.Variable, value)
	}
	for _, q := range groupsIn(environ) {
		for _, s := range groupSettings() {
			if name := strings.Replace(s.Variable, "<Q>", q, 1); !s.isLeftOut() {
				add(name, environ[name])
			}
		}
	}
	return all
}

// warnOfSchedule says what its lines mean otherwise than they seem to, and what changes of clocks do to them.
func (p *program) warnOfSchedule(job deploy.Job, log *slog.Logger) {
	for _, s := range job.Schedule {
		for _, w := range s.Warnings(job.From, job.From.Add(366*24*time.Hour)) {
			log.Warn(w.Text, "schedule", s.String())
		}
	}
}

// deliver prints the files, or writes them into a directory. What is there already it replaces.
func (p *program) deliver(files []deploy.File, directory string) error {
	if directory == "" {
		for i, f := range files {
			if len(files) > 1 {
				fmt.Fprintf(p.stdout, "%s# %s\n", strings.Repeat("\n", min(i, 1)), f.Name)
			}
			if _, err := fmt.Fprint(p.stdout, f.Content); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range files {
		path := filepath.Join(directory, f.Name)
		if err := os.WriteFile(path, []byte(f.Content), 0o644); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		fmt.Fprintln(p.stdout, path)
	}
	return nil
}
