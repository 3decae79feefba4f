package deploy

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestKubernetesIsAsItsCopy(t *testing.T) {
	files, err := Kubernetes(exampleJob(t))
	if err != nil {
		t.Fatal(err)
	}
	isCopy(t, "kubernetes.yaml", files[0].Content)
}

var whenField = regexp.MustCompile(`(?m)^  (?:name|schedule|timeZone): "(.*?)"`)

// All that users write is taken, or refused with what would do instead. What is printed is held against the API server's
// own types and checks in deploy/validate.
func TestSchedulesOnKubernetes(t *testing.T) {
	australia, err := time.LoadLocation("Australia/Sydney")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		lines string
		zone  *time.Location
		want  string // name, schedule and zone of each CronJob, or the error
	}{
		{"*/30 * * * *", nil, "ebb, */30 * * * *, Etc/UTC"},
		{"5 17 * * 0", nil, "ebb, 5 17 * * 0, Etc/UTC"},
		{"0 12 * * 1-5", nil, "ebb, 0 12 * * 1-5, Etc/UTC"},
		{"0 0 1 * *", nil, "ebb, 0 0 1 * *, Etc/UTC"},
		{"0 12 15-21 * 2", nil, "ebb, 0 12 15-21 * 2, Etc/UTC"}, // either, as in ebb
		{"*/45 * * * *", nil, "ebb, */45 * * * *, Etc/UTC"},
		{"CRON_TZ=Europe/Berlin 0 6 * * *", nil, "ebb, 0 6 * * *, Europe/Berlin"},
		{"TZ=Europe/Berlin 0 6 * * *", nil, "ebb, 0 6 * * *, Europe/Berlin"},
		{"CRON_TZ=UTC 0 6 * * *", australia, "ebb, 0 6 * * *, Etc/UTC"},
		{"@daily", nil, "ebb, 0 0 * * *, Etc/UTC"},
		{"@daily", australia, "ebb, 0 0 * * *, Australia/Sydney"},
		{"* * * * *", nil, "ebb, * * * * *, Etc/UTC"},
		{"0 6 * * *\nCRON_TZ=Europe/Berlin 30 18 * * MON-FRI", nil, "ebb-1, 0 6 * * *, Etc/UTC, ebb-2, 30 18 * * MON-FRI, Europe/Berlin"},

		{"0 6 * * *\n*/30 * * * 1", nil, "each line of EBB_SCHEDULE is a CronJob of its own, and line 1 (0 6 * * *) and line 2 (*/30 * * * 1) both fire at 2026-11-30 06:00 UTC, which would start two runs: write them as one line, or move one by as many minutes as a run may take"},
		{"@daily\n@daily", nil, "each line of EBB_SCHEDULE is a CronJob of its own, and line 1 (@daily) and line 2 (@daily) both fire at 2026-11-30 00:00 UTC, which would start two runs: write them as one line, or move one by as many minutes as a run may take"},
		// They meet in summer only.
		{"0 4 * * *\nCRON_TZ=Europe/Berlin 0 6 * * *", nil, "each line of EBB_SCHEDULE is a CronJob of its own, and line 1 (0 4 * * *) and line 2 (CRON_TZ=Europe/Berlin 0 6 * * *) both fire at 2027-03-28 04:00 UTC, which would start two runs: write them as one line, or move one by as many minutes as a run may take"},
		{"", nil, "there is no schedule; set EBB_SCHEDULE, for example to '*/30 * * * *'"},
	} {
		job := exampleJob(t)
		job.Schedule = lines(t, test.lines)
		if test.zone != nil {
			job.Schedule = job.Schedule.In(test.zone)
		}
		files, err := Kubernetes(job)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			var all []string
			for _, m := range whenField.FindAllStringSubmatch(files[0].Content, -1) {
				all = append(all, m[1])
			}
			got = strings.Join(all, ", ")
		}
		if got != test.want {
			t.Errorf("%q:\ngot  %s\nwant %s", test.lines, got, test.want)
		}
	}
}

func TestKubernetesRefuses(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"the CronJob's name " + strings.Repeat("a", 51) + "-1 would have 53 characters, and with --pods 1 Kubernetes takes 52": func(j *Job) {
			j.Name, j.Schedule = strings.Repeat("a", 51), lines(t, "0 1 * * *\n0 2 * * *")
		},
		"would have 51 characters, and with --pods 11 Kubernetes takes 49": func(j *Job) { j.Name, j.Pods = strings.Repeat("a", 51), 11 },
		"EBB_MAX_RUNTIME 1h is no less than":                               func(j *Job) { j.Asked.MaxRuntime = time.Hour },
		// Two CronJobs are two Jobs to Kubernetes: their limits come from the gap between them.
		"EBB_MAX_RUNTIME 20m is no less than the shortest gap of EBB_SCHEDULE, 10m": func(j *Job) {
			j.Asked.MaxRuntime, j.Schedule = 20*time.Minute, lines(t, "0 * * * *\n50 * * * *")
		},
		"EBB_COMPUTE holds a NUL":                 func(j *Job) { j.Settings = []Variable{{"EBB_COMPUTE", "a\x00b"}} },
		"EBB_COMPUTE is not UTF-8":                func(j *Job) { j.Settings = []Variable{{"EBB_COMPUTE", "a\xffb"}} },
		"is not UTF-8, and a file of text cannot": func(j *Job) { j.Args = []string{"run", "--", "a\xffb"} },
		`"EBB_QUEUE_SEND-MAIL_COMMAND": `: func(j *Job) {
			j.Settings = []Variable{{"EBB_QUEUE_SEND-MAIL_COMMAND", "/app/send-email"}}
		},
	} {
		job := exampleJob(t)
		change(&job)
		files, err := Kubernetes(job)
		if err == nil || !strings.Contains(err.Error(), want) || len(files) > 0 {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
