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

//go:embed kubernetes.yaml.tmpl
var kubernetesText string

var kubernetesTemplate = template.Must(template.New("kubernetes").Funcs(template.FuncMap{
	"yaml": yamlString, "expanded": notExpanded,
}).Parse(kubernetesText))

// A cronJob is one line of the schedule; a CronJob has one.
type cronJob struct{ Name, Schedule, Zone string }

// longestName is what Kubernetes takes for the name of a CronJob: a Job's name has eleven characters more, and the names
// of pods side by side their index as well.
func longestName(pods int) int {
	if pods < 2 {
		return 52
	}
	return 52 - len(fmt.Sprintf("-%d", pods-1))
}

// Kubernetes makes a CronJob, or one for each line of the schedule where the lines never meet.
func Kubernetes(j Job) ([]File, error) {
	if err := errors.Join(j.textual(), j.Startable("kubernetes")); err != nil {
		return nil, err
	}
	jobs, err := cronJobs(j)
	if err != nil {
		return nil, err
	}
	if err := j.summaryIn("/dev/termination-log", "the pod's termination message is the summary"); err != nil {
		return nil, err
	}
	limits, err := j.Asked.within(j.Schedule, j.From, platform{})
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(j.Settings, func(v Variable) bool { return v.Name == name })
	}
	var made bytes.Buffer
	err = kubernetesTemplate.Execute(&made, map[string]any{
		"Job": j, "CronJobs": jobs, "First": jobs[0].Name, "Limits": limits, "Gap": schedule.Length(limits.Gap),
		"Origins":  j.Asked.origins(limits),
		"Late":     seconds(limits.Late),
		"Deadline": seconds(limits.Deadline),
		"Grace":    seconds(limits.Grace) + afterGrace,
		"Many":     j.Pods > 1,
		"Single":   j.Pods > 1 && !has("EBB_BATCH"),
		"Summary":  !has("EBB_SUMMARY_FILE"),
		"Image":    image(j.Image),
		"Unnamed":  j.Image == "",
	})
	return []File{{"kubernetes.yaml", made.String()}}, err
}

// afterGrace is how many seconds the platform waits beyond the grace of ebb before it kills.
const afterGrace = 10

// image is what stands for an image where none was named.
func image(name string) string {
	if name == "" {
		return "registry.example.com/ebb-jobs:1"
	}
	return name
}

// cronJobs gives each line a CronJob. Kubernetes keeps the runs of one CronJob apart, but not those of two: lines that
// fire at once are refused.
func cronJobs(j Job) (all []cronJob, err error) {
	if err := apart(j.Schedule, j.From, "a CronJob of its own"); err != nil {
		return nil, err
	}
	for i, s := range j.Schedule {
		c := cronJob{Name: j.nameOf(i), Schedule: s.Five(), Zone: zoneName(s)}
		if longest := longestName(j.Pods); len(c.Name) > longest {
			return nil, fmt.Errorf("the CronJob's name %s would have %d characters, and with --pods %d Kubernetes takes %d; shorten --name", c.Name, len(c.Name), max(1, j.Pods), longest)
		}
		all = append(all, c)
	}
	return all, nil
}

// zoneName is the zone of a schedule as zone databases have it everywhere.
func zoneName(s schedule.Schedule) string {
	zone, _ := s.Zone()
	if zone == time.UTC {
		return "Etc/UTC"
	}
	return zone.String()
}

// notExpanded keeps Kubernetes from taking $(NAME) in a value or an argument for the variable of that name: two dollars
// stand for one.
func notExpanded(text string) string { return strings.ReplaceAll(text, "$", "$$") }
