package deploy

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

//go:embed github.yml.tmpl
var gitHubText string

var gitHubTemplate = template.Must(template.New("github").Funcs(template.FuncMap{
	"yaml": yamlString, "literal": noExpression,
}).Parse(gitHubText))

// gitHubPlatform is what GitHub allows a job on a runner of its own.
var gitHubPlatform = platform{limit: "the longest job on GitHub's runners", longest: 6 * time.Hour}

const (
	gitHubGap   = 5 * time.Minute // the shortest that a schedule may have
	gitHubGrace = 7 * time.Second
	gitHubKills = "a cancelled run gets INT, and seven and a half seconds later TERM, which ends ebb at once"
)

// A workflowTrigger is one line of the schedule of a workflow.
type workflowTrigger struct {
	trigger
	Either bool // both day fields are restricted
}

// GitHub makes a workflow of GitHub Actions.
func GitHub(j Job) ([]File, error) {
	if err := errors.Join(j.textual(), j.Startable("github")); err != nil {
		return nil, err
	}
	plainTriggers, err := triggers(j, "a trigger of its own on GitHub", func(s schedule.Schedule) (string, error) { return unixCron(s), nil })
	if err != nil {
		return nil, err
	}
	var triggers []workflowTrigger
	for i, t := range plainTriggers {
		v := plain(j.Schedule[i])
		triggers = append(triggers, workflowTrigger{t, !v.EveryDay && !v.EveryWeekday})
	}
	secret := strings.ToUpper(strings.ReplaceAll(j.Name, "-", "_")) + "_DATABASE_URL"
	if strings.HasPrefix(secret, "GITHUB_") {
		return nil, fmt.Errorf("--name: the secret would be %s, and GitHub keeps names that begin with GITHUB_ for itself; use another name", secret)
	}
	limits, origins, err := j.Asked.withGrace(j.Schedule, j.From, gitHubPlatform, gitHubGrace, gitHubKills)
	if limits.Gap < gitHubGap {
		return nil, fmt.Errorf("GitHub starts a workflow every five minutes at most, and the shortest gap of EBB_SCHEDULE is %s: have runs start less often, "+
			"or have ebb manifest kubernetes, systemd or cloudrun start them", schedule.Length(limits.Gap))
	}
	if err != nil {
		return nil, err
	}
	minutes, err := wholeMinutes(limits)
	if err != nil {
		return nil, err
	}
	build, start, _, err := j.Program.onRunner()
	if j.Image == "" && err != nil {
		return nil, err
	}
	var made bytes.Buffer
	err = gitHubTemplate.Execute(&made, map[string]any{
		"Job": j, "Image": j.Image, "Triggers": triggers, "Secret": secret, "Origins": origins,
		"Gap":     schedule.Length(limits.Gap),
		"Minutes": minutes,
		"Build":   build,
		"Script":  noExpression(gitHubScript(j, start, origins)),
	})
	return []File{{j.Name + ".yml", made.String()}}, err
}

// wholeMinutes is the platform's limit in minutes, rounded down where that is still after the budget.
func wholeMinutes(l limits) (int64, error) {
	minutes := l.Deadline.Truncate(time.Minute)
	if minutes <= l.Budget {
		minutes += time.Minute
	}
	if minutes >= l.Gap {
		return 0, fmt.Errorf("GitHub's limit is in whole minutes, and there is none between EBB_MAX_RUNTIME %s and the shortest gap of EBB_SCHEDULE, %s: shorten EBB_MAX_RUNTIME, or unset it, and it is derived",
			schedule.Exact(l.Budget), schedule.Exact(l.Gap))
	}
	return int64(minutes / time.Minute), nil
}

// gitHubScript is the shell line of the step. It ends in ebb, or docker, in the shell's place, so that signals reach it.
func gitHubScript(j Job, start string, origins []origin) string {
	words := []string{"exec " + start}
	if j.Image != "" {
		words = []string{"exec docker run --rm --env DATABASE_URL"}
		for _, o := range origins {
			words = append(words, "--env "+o.Name)
		}
		for _, v := range j.Settings {
			words = append(words, "--env "+v.Name)
		}
		if j.Program.Path != "" {
			words = append(words, "--entrypoint "+shellWord(j.Program.Path))
		}
		words = append(words, shellWord(j.Image))
	}
	for _, arg := range j.Args {
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}

// shellWord writes a text as one word of a POSIX shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// noExpression keeps GitHub from taking ${{ in a text for the beginning of an expression: one that gives just that takes
// its place.
func noExpression(text string) string { return strings.ReplaceAll(text, "${{", "${{ '${{' }}") }
