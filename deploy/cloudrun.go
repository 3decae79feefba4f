package deploy

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"text/template"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

//go:embed cloudrun.yaml.tmpl
var cloudRunText string

var cloudRunTemplate = template.Must(template.New("cloudrun").Funcs(template.FuncMap{"yaml": yamlString}).Parse(cloudRunText))

// cloudRunPlatform is what Cloud Run allows a job's task.
var cloudRunPlatform = platform{limit: "the longest timeout of a task", longest: 168 * time.Hour}

const (
	longestJobName = 49 // what Cloud Run takes for the name of a job
	cloudRunGrace  = 8 * time.Second
	cloudRunKills  = "Cloud Run kills ten seconds after TERM"
)

// CloudRun makes a job of Google Cloud Run. The commands that have Cloud Scheduler start it are in its head comment, for
// they need the project's name.
func CloudRun(j Job) ([]File, error) {
	if err := errors.Join(j.textual(), j.Startable("cloudrun")); err != nil {
		return nil, err
	}
	triggers, err := triggers(j, "a job of its own in Cloud Scheduler", func(s schedule.Schedule) (string, error) { return unixCron(s), nil })
	if err != nil {
		return nil, err
	}
	if last := triggers[len(triggers)-1].Name; len(last) > longestJobName {
		return nil, fmt.Errorf("the name %s has %d characters, and Cloud Run takes %d; shorten --name", last, len(last), longestJobName)
	}
	limits, origins, err := j.Asked.withGrace(j.Schedule, j.From, cloudRunPlatform, cloudRunGrace, cloudRunKills)
	if err != nil {
		return nil, err
	}
	var made bytes.Buffer
	err = cloudRunTemplate.Execute(&made, map[string]any{
		"Job": j, "Triggers": triggers, "Origins": origins,
		"Deadline": seconds(limits.Deadline),
		"Gap":      schedule.Length(limits.Gap),
		"Image":    image(j.Image),
		"Unnamed":  j.Image == "",
	})
	return []File{{"cloudrun.yaml", made.String()}}, err
}
