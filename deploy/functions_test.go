package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCopies(t *testing.T) {
	for name, make := range map[string]func(Job) ([]File, error){"lambda.yaml": Lambda, "cloudrun.yaml": CloudRun, "github.yml": GitHub} {
		files, err := make(exampleJob(t))
		if err != nil {
			t.Fatal(err)
		}
		isCopy(t, name, files[0].Content)
	}
}

// All that users write is taken, or refused with what would do instead.
func TestSchedulesElsewhere(t *testing.T) {
	australia, err := time.LoadLocation("Australia/Sydney")
	if err != nil {
		t.Fatal(err)
	}
	const either = `in "0 12 15-21 * 2" either the day of the month or the weekday is enough, which Amazon EventBridge cannot express`
	const often = "GitHub starts a workflow every five minutes at most, and the shortest gap of EBB_SCHEDULE is 1m"
	const meet = "line 1 (0 6 * * *) and line 2 (*/30 * * * 1) both fire at 2026-11-30 06:00 UTC, which would start two runs"
	for _, test := range []struct {
		lines                    string
		zone                     *time.Location
		lambda, cloudRun, gitHub string // cron and zone of each trigger, or how the error is told
	}{
		{"*/30 * * * *", nil, "cron(0,30 * * * ? *) Etc/UTC", "0,30 * * * * Etc/UTC", "0,30 * * * *"},
		{"5 17 * * 0", nil, "cron(5 17 ? * SUN *) Etc/UTC", "5 17 * * 0 Etc/UTC", "5 17 * * 0"},
		{"0 12 * * 1-5", nil, "cron(0 12 ? * MON-FRI *) Etc/UTC", "0 12 * * 1-5 Etc/UTC", "0 12 * * 1-5"},
		{"0 0 1 * *", nil, "cron(0 0 1 * ? *) Etc/UTC", "0 0 1 * * Etc/UTC", "0 0 1 * *"},
		{"0 12 15-21 * 2", nil, either, "0 12 15-21 * 2 Etc/UTC", "0 12 15-21 * 2"},
		{"*/45 * * * *", nil, "cron(0,45 * * * ? *) Etc/UTC", "0,45 * * * * Etc/UTC", "0,45 * * * *"},
		{"CRON_TZ=Europe/Berlin 0 6 * * *", nil, "cron(0 6 * * ? *) Europe/Berlin", "0 6 * * * Europe/Berlin", "0 6 * * * Europe/Berlin"},
		{"CRON_TZ=UTC 0 6 * * *", australia, "cron(0 6 * * ? *) Etc/UTC", "0 6 * * * Etc/UTC", "0 6 * * *"},
		{"@daily", nil, "cron(0 0 * * ? *) Etc/UTC", "0 0 * * * Etc/UTC", "0 0 * * *"},
		{"@daily", australia, "cron(0 0 * * ? *) Australia/Sydney", "0 0 * * * Australia/Sydney", "0 0 * * * Australia/Sydney"},
		{"* * * * *", nil, "cron(* * * * ? *) Etc/UTC", "* * * * * Etc/UTC", often},
		{"0 6 * * *\nCRON_TZ=Europe/Berlin 30 18 * * MON-FRI", nil, "cron(0 6 * * ? *) Etc/UTC; cron(30 18 ? * MON-FRI *) Europe/Berlin",
			"0 6 * * * Etc/UTC; 30 18 * * 1-5 Europe/Berlin", "0 6 * * *; 30 18 * * 1-5 Europe/Berlin"},
		{"0 6 * * *\n*/30 * * * 1", nil, meet, meet, meet},
		{"", nil, "there is no schedule; set EBB_SCHEDULE", "there is no schedule; set EBB_SCHEDULE", "there is no schedule; set EBB_SCHEDULE"},
	} {
		job := exampleJob(t)
		job.Schedule = lines(t, test.lines)
		if test.zone != nil {
			job.Schedule = job.Schedule.In(test.zone)
		}
		for _, target := range []struct {
			name, want string
			make       func(Job) ([]File, error)
			found      func(string) []string
		}{
			{"lambda", test.lambda, Lambda, func(text string) []string {
				return paired(crons(text, "ScheduleExpression"), crons(text, "ScheduleExpressionTimezone"))
			}},
			{"cloudrun", test.cloudRun, CloudRun, func(text string) []string { return commandTriggers(text) }},
			{"github", test.gitHub, GitHub, workflowTriggers},
		} {
			files, err := target.make(job)
			if err != nil {
				if !strings.Contains(err.Error(), target.want) {
					t.Errorf("%q for %s: %v\nwant %s", test.lines, target.name, err, target.want)
				}
				continue
			}
			if got := strings.Join(target.found(files[0].Content), "; "); got != target.want {
				t.Errorf("%q for %s: %s\nwant %s", test.lines, target.name, got, target.want)
			}
		}
	}
}

func paired(a, b []string) (all []string) {
	for i := range a {
		all = append(all, a[i]+" "+b[i])
	}
	return all
}

// commandTriggers are the schedules in the commands for Cloud Scheduler.
func commandTriggers(text string) (all []string) {
	for line := range strings.Lines(text) {
		if parts := strings.Split(line, "'"); strings.Contains(line, "--schedule '") {
			all = append(all, parts[1]+" "+parts[3])
		}
	}
	return all
}

func workflowTriggers(text string) (all []string) {
	for line := range strings.Lines(text) {
		if cron := crons(line, "- cron"); cron != nil {
			all = append(all, cron[0])
		}
		if zone := crons(line, "timezone"); zone != nil {
			all[len(all)-1] += " " + zone[0]
		}
	}
	return all
}

// The limits of a platform hold whatever the schedule allows.
func TestLimitsElsewhere(t *testing.T) {
	for _, test := range []struct {
		name  string
		make  func(Job) ([]File, error)
		lines string
		asked Asked
		want  []string
	}{
		{"lambda", Lambda, "0 3 * * *", Asked{}, []string{"Timeout: 900\n", `EBB_MAX_RUNTIME: "13m30s"`, "# derived: nine tenths of the longest timeout of a function, 15m\n", "MaximumEventAgeInSeconds: 600\n"}},
		{"lambda", Lambda, "* * * * *", Asked{}, []string{"Timeout: 58\n", `EBB_MAX_RUNTIME: "45s"`, "MaximumEventAgeInSeconds: 60\n"}},
		{"lambda", Lambda, "0 3 * * *", Asked{JobTimeout: 20 * time.Minute}, []string{"EBB_JOB_TIMEOUT 20m and EBB_GRACE 20s together are too long for a run within the longest timeout of a function, 15m"}},
		{"lambda", Lambda, "0 3 * * *", Asked{MaxRuntime: time.Hour}, []string{"EBB_MAX_RUNTIME 1h is no less than the longest timeout of a function, 15m"}},
		{"cloudrun", CloudRun, "0 3 * * *", Asked{}, []string{`timeoutSeconds: "3908"`, "# derived: Cloud Run kills ten seconds after TERM\n                - name: EBB_GRACE\n                  value: \"8s\"\n"}},
		{"cloudrun", CloudRun, "0 3 * * *", Asked{Grace: time.Minute}, []string{"# as set, though Cloud Run kills ten seconds after TERM\n                - name: EBB_GRACE\n                  value: \"1m\"\n"}},
		{"cloudrun", CloudRun, "0 3 * * *", Asked{Grace: 5 * time.Second}, []string{"# as set\n                - name: EBB_GRACE\n                  value: \"5s\"\n"}},
		{"cloudrun", CloudRun, "0 3 * * *", Asked{Grace: 8 * time.Second}, []string{"# as set\n                - name: EBB_GRACE\n                  value: \"8s\"\n"}},
		{"github", GitHub, "*/5 * * * *", Asked{MaxRuntime: 4*time.Minute + 30*time.Second, Grace: 5 * time.Second}, []string{"there is none between EBB_MAX_RUNTIME 4m30s and the shortest gap of EBB_SCHEDULE, 5m"}},
		{"github", GitHub, "*/10 * * * *", Asked{MaxRuntime: 9 * time.Minute}, []string{"there is none between EBB_MAX_RUNTIME 9m and the shortest gap of EBB_SCHEDULE, 10m"}},
		{"github", GitHub, "*/5 * * * *", Asked{}, []string{"timeout-minutes: 4\n", `EBB_MAX_RUNTIME: "3m45s"`, `EBB_GRACE: "7s"`}},
		{"github", GitHub, "0 3 * * *", Asked{MaxRuntime: 6 * time.Hour}, []string{"EBB_MAX_RUNTIME 6h is no less than the longest job on GitHub's runners, 6h"}},
	} {
		job := exampleJob(t)
		job.Schedule, job.Asked = lines(t, test.lines), test.asked
		files, err := test.make(job)
		text := fmt.Sprint(err)
		if err == nil {
			text = files[0].Content
		}
		for _, part := range test.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s, %s, %+v: %q is not in\n%s", test.name, test.lines, test.asked, part, text)
			}
		}
	}
}

// A function's environment is full at its last byte, not before.
func TestLambdaTakesAFullEnvironment(t *testing.T) {
	job := exampleJob(t)
	size := 0
	for _, v := range job.Settings {
		size += len(v.Name) + len(v.Value)
	}
	for more, want := range map[int]bool{4096 - size: true, 4097 - size: false} {
		full := exampleJob(t)
		full.Settings[1].Value += strings.Repeat("x", more)
		if _, err := Lambda(full); (err == nil) != want {
			t.Errorf("%d bytes: %v", size+more, err)
		}
	}
}

// On a day on which the clocks skip their hour, lines do not meet.
func TestLinesDoNotMeetInAnHourThatIsSkipped(t *testing.T) {
	set := lines(t, "CRON_TZ=Europe/Berlin 30 2 28 3 *\nCRON_TZ=Europe/Berlin */30 2 * 3 *")
	if at, ok := meet(set[0], set[1], monday); !ok || at != "2028-03-28 02:30 CEST" {
		t.Errorf("they meet at %s, %v", at, ok)
	}
}

func TestRefusedElsewhere(t *testing.T) {
	for _, test := range []struct {
		name   string
		make   func(Job) ([]File, error)
		change func(*Job)
		want   string
	}{
		{"lambda", Lambda, func(j *Job) { j.Args = []string{"run", "--", "./send-email"} }, "set EBB_QUEUE_<Q>_COMMAND, for example EBB_QUEUE_EMAIL_COMMAND=./send-email"},
		{"lambda", Lambda, func(j *Job) { j.Settings[1].Value = "echo {{resolve:ssm:x}}" }, "EBB_QUEUE_EMAIL_COMMAND: CloudFormation would take the {{resolve:"},
		{"lambda", Lambda, func(j *Job) { j.Settings[1].Value = strings.Repeat("x", 5000) }, "the environment of a function 4096"},
		{"cloudrun", CloudRun, func(j *Job) { j.Name = strings.Repeat("x", 50) }, "Cloud Run takes 49"},
		{"github", GitHub, func(j *Job) { j.Name = "github-jobs" }, "GITHUB_JOBS_DATABASE_URL"},
	} {
		job := exampleJob(t)
		test.change(&job)
		if _, err := test.make(job); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}
