package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

var monday = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func lines(t *testing.T, text string) schedule.Set {
	t.Helper()
	set, err := schedule.ParseLines(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (l limits) text() string {
	return fmt.Sprint(l.JobTimeout, " + ", l.Grace, " < ", l.Budget, " < ", l.Deadline, " < ", l.Gap, ", late ", l.Late)
}

func TestLimits(t *testing.T) {
	lambda := platform{"the longest timeout of a function", 15 * time.Minute, 4 * time.Second}
	job := func(d time.Duration) Asked { return Asked{JobTimeout: d} }
	for _, test := range []struct {
		lines    string
		asked    Asked
		platform platform
		want     string
	}{
		{"* * * * *", Asked{}, platform{}, "17s + 11s < 45s < 58s < 1m0s, late 30s"},
		{"*/20 * * * *", Asked{}, platform{}, "5m0s + 20s < 15m0s < 17m40s < 20m0s, late 10m0s"},
		{"*/45 * * * *", Asked{}, platform{}, "5m0s + 20s < 11m15s < 13m17s < 15m0s, late 7m30s"},
		{"0 3 * * *", Asked{}, platform{}, "5m0s + 20s < 1h0m0s < 1h5m20s < 24h0m0s, late 10m0s"},
		{"CRON_TZ=America/New_York 30 1 * * *", Asked{}, platform{}, "5m0s + 20s < 45m0s < 50m20s < 1h0m0s, late 10m0s"},
		{"0 * * * *\n50 * * * *", Asked{}, platform{}, "3m35s + 20s < 7m30s < 8m55s < 10m0s, late 5m0s"},
		{"0 * * * *", Asked{}, lambda, "5m0s + 20s < 13m30s < 15m0s < 1h0m0s, late 10m0s"},
		{"*/5 * * * *", Asked{}, lambda, "1m42s + 20s < 3m45s < 4m32s < 5m0s, late 2m30s"},
		// A job timeout stretches the budget as far as there is room.
		{"*/30 * * * *", job(25 * time.Minute), platform{}, "25m0s + 20s < 27m30s < 28m55s < 30m0s, late 10m0s"},
		{"0 3 * * *", job(2 * time.Hour), platform{}, "2h0m0s + 20s < 2h30m25s < 2h35m45s < 24h0m0s, late 10m0s"},
		{"*/30 * * * *", Asked{Queues: []QueueTimeout{{"EBB_QUEUE_A_TIMEOUT", 25 * time.Minute}}}, platform{}, "5m0s + 20s < 27m30s < 28m55s < 30m0s, late 10m0s"},
		{"0 3 * * *", Asked{MaxRuntime: 5 * time.Hour, Grace: time.Minute, JobTimeout: 4 * time.Hour}, platform{}, "4h0m0s + 1m0s < 5h0m0s < 5h6m0s < 24h0m0s, late 10m0s"},
		{"*/30 * * * *", Asked{MaxRuntime: 3 * time.Second}, platform{}, "1s + 750ms < 3s < 5m3s < 30m0s, late 10m0s"},

		{"*/30 * * * *", Asked{Queues: []QueueTimeout{{"EBB_QUEUE_A_TIMEOUT", 25 * time.Minute}, {"EBB_QUEUE_B_TIMEOUT", time.Minute}}}, platform{}, "5m0s + 20s < 27m30s < 28m55s < 30m0s, late 10m0s"},

		// Where two meet there is no time left.
		{"*/30 * * * *", Asked{MaxRuntime: 10 * time.Minute, JobTimeout: 9*time.Minute + 40*time.Second}, platform{}, "EBB_JOB_TIMEOUT 9m40s and EBB_GRACE 20s together are no less than EBB_MAX_RUNTIME 10m: shorten them"},
		{"*/20 * * * *", Asked{MaxRuntime: 19*time.Minute + 40*time.Second}, platform{}, "EBB_MAX_RUNTIME 19m40s and EBB_GRACE 20s together leave no time before the end of the shortest gap of EBB_SCHEDULE, 20m (2026-11-29 23:40 UTC to 2026-11-30 00:00 UTC): shorten them, or unset EBB_MAX_RUNTIME, and it is derived"},
		{"*/20 * * * *", job(19*time.Minute + 20*time.Second), platform{}, "EBB_JOB_TIMEOUT 19m20s and EBB_GRACE 20s together are too long for a run within the shortest gap of EBB_SCHEDULE, 20m (2026-11-29 23:40 UTC to 2026-11-30 00:00 UTC): shorten them"},
		{"@hourly", Asked{MaxRuntime: 14*time.Minute + 58*time.Second, Grace: time.Second, JobTimeout: 14*time.Minute + 55*time.Second}, lambda, "EBB_JOB_TIMEOUT 14m55s and EBB_GRACE 1s together are no less than 14m56s, what the platform's limit of 15m leaves a run: shorten them"},
		{"*/20 * * * *", Asked{MaxRuntime: 19*time.Minute + 59*time.Second}, platform{}, "EBB_MAX_RUNTIME 19m59s and EBB_GRACE 20s together leave no time before the end of the shortest gap of EBB_SCHEDULE, 20m (2026-11-29 23:40 UTC to 2026-11-30 00:00 UTC): shorten them, or unset EBB_MAX_RUNTIME, and it is derived"},
		{"*/30 * * * *", Asked{MaxRuntime: time.Hour}, platform{}, "EBB_MAX_RUNTIME 1h is no less than the shortest gap of EBB_SCHEDULE, 30m (2026-11-29 23:30 UTC to 2026-11-30 00:00 UTC): shorten it, or unset it, and it is derived"},
		{"0 * * * *", Asked{MaxRuntime: 20 * time.Minute}, lambda, "EBB_MAX_RUNTIME 20m is no less than the longest timeout of a function, 15m: shorten it, or unset it, and it is derived"},
		{"*/20 * * * *", job(20 * time.Minute), platform{}, "EBB_JOB_TIMEOUT 20m and EBB_GRACE 20s together are too long for a run within the shortest gap of EBB_SCHEDULE, 20m (2026-11-29 23:40 UTC to 2026-11-30 00:00 UTC): shorten them"},
		{"0 * * * *", Asked{MaxRuntime: 10 * time.Minute, Queues: []QueueTimeout{{"EBB_QUEUE_A_TIMEOUT", 10 * time.Minute}}}, platform{}, "EBB_QUEUE_A_TIMEOUT 10m and EBB_GRACE 20s together are no less than EBB_MAX_RUNTIME 10m: shorten them"},
		{"* * * * *", Asked{JobTimeout: 45 * time.Second, Grace: 10 * time.Second}, lambda, "EBB_JOB_TIMEOUT 45s and EBB_GRACE 10s together are too long for a run within the shortest gap of EBB_SCHEDULE, 1m (2026-11-29 23:59 UTC to 2026-11-30 00:00 UTC): shorten them"},
		{"@hourly", Asked{MaxRuntime: 14*time.Minute + 58*time.Second, Grace: time.Second, JobTimeout: 14*time.Minute + 56*time.Second}, lambda, "EBB_JOB_TIMEOUT 14m56s and EBB_GRACE 1s together are no less than 14m56s, what the platform's limit of 15m leaves a run: shorten them"},
		{"* * * * *", Asked{Grace: time.Minute}, platform{}, "EBB_GRACE 1m is too long for a run within the shortest gap of EBB_SCHEDULE, 1m (2026-11-29 23:59 UTC to 2026-11-30 00:00 UTC): shorten it"},
	} {
		l, err := test.asked.within(lines(t, test.lines), monday, test.platform)
		got := l.text()
		if err != nil {
			got = err.Error()
		} else if longest, _ := test.asked.longest(); max(longest, l.JobTimeout)+l.Grace >= l.Budget || l.Budget+l.Grace >= l.Deadline || l.Deadline >= l.Gap {
			t.Errorf("%q: %s is not in order", test.lines, got)
		}
		if got != test.want {
			t.Errorf("%q, %+v:\ngot  %s\nwant %s", strings.ReplaceAll(test.lines, "\n", "; "), test.asked, got, test.want)
		}
	}
}
