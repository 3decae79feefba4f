package deploy

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

//go:embed lambda.yaml.tmpl
var lambdaText string

var lambdaTemplate = template.Must(template.New("lambda").Funcs(template.FuncMap{"yaml": yamlString}).Parse(lambdaText))

// lambdaPlatform is what AWS allows a function, whose run keeps three seconds of it for its answer, and one for its start.
var lambdaPlatform = platform{limit: "the longest timeout of a function", longest: 15 * time.Minute, reserve: 4 * time.Second}

const (
	leastAge        = 60   // seconds; the least age of an event that AWS takes for a limit
	mostEnvironment = 4096 // bytes of all variables of a function together
)

// Lambda makes a template for AWS CloudFormation: a function that is one run an invocation, and a schedule for each line.
func Lambda(j Job) ([]File, error) {
	if err := errors.Join(j.textual(), j.Startable("lambda")); err != nil {
		return nil, err
	}
	if err := lambdaTakes(j); err != nil {
		return nil, err
	}
	triggers, err := lambdaTriggers(j)
	if err != nil {
		return nil, err
	}
	limits, err := j.Asked.within(j.Schedule, j.From, lambdaPlatform)
	if err != nil {
		return nil, err
	}
	bootstrap, _ := j.Program.bootstrap()
	var made bytes.Buffer
	err = lambdaTemplate.Execute(&made, map[string]any{
		"Job": j, "Image": j.Image, "Triggers": triggers, "Bootstrap": bootstrap, "Origins": lambdaPlatform.origins(j.Asked, limits),
		"Deadline": seconds(limits.Deadline),
		"Late":     max(leastAge, seconds(limits.Late)),
		"Gap":      schedule.Length(limits.Gap),
		"Longest":  schedule.Length(lambdaPlatform.longest),
	})
	return []File{{"lambda.yaml", made.String()}}, err
}

// lambdaTakes refuses what a function, or its template, cannot hold.
func lambdaTakes(j Job) error {
	if !slices.Equal(j.Args, []string{"run"}) {
		return fmt.Errorf("a function starts ebb without arguments, so that a command behind -- does not reach it: set EBB_QUEUE_<Q>_COMMAND, for example EBB_QUEUE_EMAIL_COMMAND=./send-email")
	}
	if err := j.summaryIn("/tmp/", "the answer is the summary"); err != nil {
		return err
	}
	size := 0
	for _, v := range j.Settings {
		if strings.Contains(v.Value, "{{resolve:") {
			return fmt.Errorf("%s: CloudFormation would take the {{resolve: in it for a reference, and knows no way to write it otherwise", v.Name)
		}
		size += len(v.Name) + len(v.Value)
	}
	if size > mostEnvironment {
		return fmt.Errorf("the settings have %d bytes, and the environment of a function %d: put long commands into scripts", size, mostEnvironment)
	}
	return nil
}

// A trigger is one line of the schedule, as a platform that knows only one line a trigger has it.
type trigger struct {
	Name   string
	Number int
	Cron   string
	Zone   string
	Line   string // as it was set
}

func lambdaTriggers(j Job) ([]trigger, error) {
	return triggers(j, "a schedule of its own on AWS", awsCron)
}

// triggers gives each line one, and refuses lines of which two fire at once: the platform would start two runs.
func triggers(j Job, each string, text func(schedule.Schedule) (string, error)) (all []trigger, err error) {
	if err := apart(j.Schedule, j.From, each); err != nil {
		return nil, err
	}
	for i, s := range j.Schedule {
		t := trigger{Name: j.nameOf(i), Number: i + 1, Zone: zoneName(s), Line: s.String()}
		if t.Cron, err = text(s); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
