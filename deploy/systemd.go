package deploy

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"
	"unicode"

	"github.com/seed829e008e/ebb/schedule"
)

//go:embed ebb.service.tmpl
var serviceText string

//go:embed ebb.timer.tmpl
var timerText string

var (
	unitWords       = template.FuncMap{"word": unitString, "argument": unitArgument}
	serviceTemplate = template.Must(template.New("service").Funcs(unitWords).Parse(serviceText))
	timerTemplate   = template.Must(template.New("timer").Funcs(unitWords).Parse(timerText))
)

// Systemd makes a service, which is a run, and the timer that starts it. All lines of the schedule are in the one timer,
// so they may meet.
func Systemd(j Job) ([]File, error) {
	if err := errors.Join(j.textual(), j.systemdTakes(), j.Startable("systemd")); err != nil {
		return nil, err
	}
	if err := j.summaryIn("/tmp/", "the journal has the summary"); err != nil {
		return nil, err
	}
	limits, err := j.Asked.within(j.Schedule, j.From, platform{})
	if err != nil {
		return nil, err
	}
	program, _, err := j.Program.onMachine()
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"Job": j, "Program": program, "Name": path.Base(program), "Directory": path.Dir(program), "Gap": schedule.Length(limits.Gap), "Origins": j.Asked.origins(limits),
		"Deadline": seconds(limits.Deadline), "Stop": seconds(limits.Grace) + afterGrace,
		"Calendar": calendarLines(j.Schedule), "Zones": inZones(j.Schedule),
	}
	var service, timer bytes.Buffer
	err = errors.Join(serviceTemplate.Execute(&service, values), timerTemplate.Execute(&timer, values))
	return []File{{j.Name + ".service", service.String()}, {j.Name + ".timer", timer.String()}}, err
}

// systemdTakes refuses what it would leave out of the environment with no more than a warning.
func (j Job) systemdTakes() error {
	var wrong []error
	for _, v := range j.Settings {
		if strings.ContainsFunc(v.Value, func(r rune) bool { return r != '\n' && r != '\t' && r <= 0x7f && unicode.IsControl(r) }) {
			wrong = append(wrong, fmt.Errorf("%s holds a control character, and systemd takes none in a variable but tab and newline; put the command into a script", v.Name))
		}
	}
	return errors.Join(wrong...)
}

// unitArgument is a word of a command line: there a dollar would begin a variable, and two stand for one.
func unitArgument(text string) string { return strings.ReplaceAll(unitString(text), "$", "$$") }

// inZones says whether clocks change for any of the schedules.
func inZones(set schedule.Set) bool {
	for _, s := range set {
		if zoneName(s) != "Etc/UTC" {
			return true
		}
	}
	return false
}
