package deploy

import (
	"fmt"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

// A Job is all that the files of a platform are made from.
type Job struct {
	// Name is that of everything that is made: lower-case letters, digits and dashes, at most 52 of them.
	Name string
	// Image is the container image, with ebb as its entry point and the handlers' commands in it.
	Image string
	// Args are ebb's arguments: run, and a command behind -- where that is the handler.
	Args []string
	// Program is what has the handlers in Go; ebb itself where it is the zero Program.
	Program Program
	// Commands are those of the queues that runs drain.
	Commands []Command
	// Schedule is when runs start, each line in its zone.
	Schedule schedule.Set
	// Settings are the variables of the runs, without the limits and without secrets.
	Settings []Variable
	// Asked are the limits that are set.
	Asked Asked
	// Pods are how many runs work on a backlog side by side; one unless set. Only Kubernetes has them.
	Pods int
	// From is the time from which the schedule is looked at.
	From time.Time
}

// nameOf is the name of what starts the runs of a line, which has a number where there are several.
func (j Job) nameOf(line int) string {
	if len(j.Schedule) < 2 {
		return j.Name
	}
	return fmt.Sprintf("%s-%d", j.Name, line+1)
}

// A Variable is a setting and its value, as it is to reach the run.
type Variable struct{ Name, Value string }

// A File is what is to be deployed.
type File struct{ Name, Content string }
