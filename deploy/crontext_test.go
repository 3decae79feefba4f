package deploy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/schedule"
)

func TestCronTexts(t *testing.T) {
	for _, test := range []struct{ line, unix, aws string }{
		{"*/30 * * * *", "0,30 * * * *", "cron(0,30 * * * ? *)"},
		{"5 17 * * 0", "5 17 * * 0", "cron(5 17 ? * SUN *)"},
		{"0 12 * * 1-5", "0 12 * * 1-5", "cron(0 12 ? * MON-FRI *)"},
		{"0 0 1 * *", "0 0 1 * *", "cron(0 0 1 * ? *)"},
		{"0 12 15-21 * 2", "0 12 15-21 * 2", "EBB_SCHEDULE: in \"0 12 15-21 * 2\" either the day of the month or the weekday is enough, which Amazon EventBridge cannot express: restrict one of the two only, or have ebb manifest kubernetes, systemd or cloudrun start the runs"},
		{"*/45 * * * *", "0,45 * * * *", "cron(0,45 * * * ? *)"},
		{"@daily", "0 0 * * *", "cron(0 0 * * ? *)"},
		{"@weekly", "0 0 * * 0", "cron(0 0 ? * SUN *)"},
		{"@yearly", "0 0 1 1 *", "cron(0 0 1 1 ? *)"},
		{"* * * * *", "* * * * *", "cron(* * * * ? *)"},
		{"*/5 */6 * * *", "*/5 */6 * * *", "cron(0/5 0/6 * * ? *)"},
		{"*/7 9-17 * JAN-MAR,dec mon,wed,FRI", "*/7 9-17 * 1-3,12 1,3,5", "cron(0/7 9-17 ? 1-3,12 MON,WED,FRI *)"},
		// A step makes a day field a restricted one, for which a leading star means another thing to other schedulers.
		{"0 0 */2 * 1", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 1", "EBB_SCHEDULE: in \"0 0 */2 * 1\" either the day of the month or the weekday is enough, which Amazon EventBridge cannot express: restrict one of the two only, or have ebb manifest kubernetes, systemd or cloudrun start the runs"},
		{"0 0 */2 * *", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * *", "cron(0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * ? *)"},
		{"0 0 * * */3", "0 0 * * 0,3,6", "cron(0 0 ? * SUN,WED,SAT *)"},
		{"0 0 1-31 * 1", "0 0 * * *", "cron(0 0 * * ? *)"}, // either is enough, so every day
		{"0 0 13 * 0-6", "0 0 * * *", "cron(0 0 * * ? *)"},
		{"0 0 13 * *", "0 0 13 * *", "cron(0 0 13 * ? *)"},
		{"1-59/2 1-23/2 2-30/2 * *", "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47,49,51,53,55,57,59 1,3,5,7,9,11,13,15,17,19,21,23 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 * *",
			"cron(1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47,49,51,53,55,57,59 1,3,5,7,9,11,13,15,17,19,21,23 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 * ? *)"},
	} {
		s := lines(t, test.line)[0]
		if got := unixCron(s); got != test.unix {
			t.Errorf("%s for unix: %s", test.line, got)
		}
		got, err := awsCron(s)
		if err != nil {
			got = err.Error()
		}
		if got != test.aws {
			t.Errorf("%s for AWS: %s", test.line, got)
		}
	}
	// AWS takes 256 characters. No schedule needs them: this is as long as it gets.
	longest := lines(t, "0-57/3,1-58/3 0-21/3,1-22/3 1-31/3,2-29/3 1-10/3,2-11/3 *")[0]
	if got, err := awsCron(longest); err != nil || len(got) > 256 {
		t.Error(got, err)
	}
}

// What is written for AWS fires when the schedule does. It is read here by AWS's own description of its expressions, with
// no word of the code that writes them.
func TestAWSFiresAsTheSchedule(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compared, either := 0, 0
	for range 900 {
		line := randomLine(r)
		s, err := schedule.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text, err := awsCron(s)
		if err != nil {
			either++
			continue
		}
		compared++
		at := monday.Add(time.Duration(r.IntN(400*24*60)) * time.Minute)
		e, err := parseAWS(text)
		if err != nil {
			t.Fatalf("%s: %s: %v", line, text, err)
		}
		for n, from := 0, at; n < 25; n++ {
			want, ok := schedule.Set{s}.Next(from)
			got, found := e.next(from, at.AddDate(3, 0, 0))
			if !ok || !found {
				if found != ok && want.Before(at.AddDate(3, 0, 0)) {
					t.Errorf("%s: %s: after %v one fires and the other does not", line, text, from)
				}
				break
			}
			if !got.Equal(want) {
				t.Errorf("%s: %s: after %v it fires at %v, want %v", line, text, from, got, want)
				break
			}
			from = want
		}
	}
	if compared < 500 || either < 50 {
		t.Errorf("only %d were compared, and %d refused", compared, either)
	}
}

// randomLine is a cron line of any kind that a user may write.
func randomLine(r *rand.Rand) string {
	names := map[int][]string{3: {"", "jan", "FEB", "mar", "APR", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, 4: {"sun", "MON", "tue", "Wed", "thu", "fri", "sat"}}
	var all []string
	for i, f := range [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
		value := func(least int) int { return least + r.IntN(f[1]-least+1) }
		text := func(v int) string {
			if names[i] != nil && r.IntN(2) == 0 {
				return names[i][v]
			}
			return strconv.Itoa(v)
		}
		var parts []string
		for range 1 + r.IntN(2) {
			from := value(f[0])
			to := value(from)
			switch r.IntN(6) {
			case 0, 1:
				parts = append(parts, text(from))
			case 2:
				parts = append(parts, text(from)+"-"+text(to))
			case 3:
				parts = append(parts, fmt.Sprintf("%d-%d/%d", from, to, 1+r.IntN(5)))
			case 4:
				parts = append(parts, fmt.Sprintf("*/%d", 1+r.IntN(f[1])))
			default:
				parts = append(parts, "*")
			}
		}
		if i > 1 && r.IntN(3) > 0 || i == 1 && r.IntN(3) == 0 {
			parts = []string{"*"}
		}
		all = append(all, strings.Join(parts, ","))
	}
	return strings.Join(all, " ")
}

// An awsExpression is what cron(...) means to AWS: sets of values, and no restriction where there is none.
type awsExpression struct {
	minutes, hours, days, months, weekdays map[int]bool
}

func parseAWS(text string) (e awsExpression, err error) {
	fields := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "cron("), ")"))
	if len(fields) != 6 || !strings.HasPrefix(text, "cron(") || fields[5] != "*" {
		return e, fmt.Errorf("it has not six fields, the last of them a star")
	}
	if (fields[2] == "?") == (fields[4] == "?") {
		return e, fmt.Errorf("not exactly one of the day fields is a question mark")
	}
	weekdays := map[string]int{"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7}
	for i, into := range []*map[int]bool{&e.minutes, &e.hours, &e.days, &e.months, &e.weekdays} {
		bounds := [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {1, 7}}[i]
		names := map[string]int{}
		if i == 4 {
			names = weekdays
		}
		if *into, err = awsField(fields[i], bounds, names, i == 2 || i == 4); err != nil {
			return e, fmt.Errorf("field %d: %w", i+1, err)
		}
	}
	return e, nil
}

func awsField(text string, bounds [2]int, names map[string]int, isDay bool) (map[int]bool, error) {
	if text == "*" || text == "?" && isDay {
		return nil, nil
	}
	number := func(text string) (int, error) {
		if n, ok := names[text]; ok {
			return n, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < bounds[0] || n > bounds[1] {
			return 0, fmt.Errorf("%q is no value", text)
		}
		return n, nil
	}
	all := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if first, step, ok := strings.Cut(part, "/"); ok {
			from, err := number(first)
			by, err2 := strconv.Atoi(step)
			if err != nil || err2 != nil || by < 1 || len(names) > 0 { // AWS knows no steps of weekdays
				return nil, fmt.Errorf("the step %q", part)
			}
			for v := from; v <= bounds[1]; v += by {
				all[v] = true
			}
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		from, err := number(first)
		to := from
		if isRange && err == nil {
			to, err = number(last)
		}
		if err != nil || to < from {
			return nil, fmt.Errorf("the part %q", part)
		}
		for v := from; v <= to; v++ {
			all[v] = true
		}
	}
	return all, nil
}

func (e awsExpression) next(after, until time.Time) (time.Time, bool) {
	in := func(set map[int]bool, v int) bool { return set == nil || set[v] }
	for t := after.Truncate(time.Minute).Add(time.Minute); t.Before(until); {
		switch {
		case !in(e.months, int(t.Month())), !in(e.days, t.Day()), !in(e.weekdays, int(t.Weekday())+1):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case !in(e.hours, t.Hour()):
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !in(e.minutes, t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

func TestApart(t *testing.T) {
	for _, test := range []struct{ lines, meet string }{
		{"0 6 * * *\n30 18 * * 1-5", ""},
		{"0-29 * * * *\n30-59 * * * *", ""},
		{"0 0 1 * *\n0 0 2 * *", ""},
		{"0 6 * * *\n*/30 * * * 1", "line 1 (0 6 * * *) and line 2 (*/30 * * * 1) both fire at 2026-11-30 06:00 UTC"},
		{"0 1 * * *\n0 2 * * *\n0 1 1 1 *", "line 1 (0 1 * * *) and line 3 (0 1 1 1 *) both fire at 2027-01-01 01:00 UTC"},
		{"0 0 1 1 *\n0 0 * * 1", "both fire at 2029-01-01 00:00 UTC"}, // not for years
		{"0 0 29 2 *\n0 0 * * 2", "both fire at 2028-02-29 00:00 UTC"},
		{"0 4 * * *\nCRON_TZ=Europe/Berlin 0 6 * * *", "both fire at 2027-03-28 04:00 UTC"}, // in summer only
	} {
		err := apart(lines(t, test.lines), monday, "a thing")
		if got := fmt.Sprint(err); (err == nil) != (test.meet == "") || !strings.Contains(got, test.meet) {
			t.Errorf("%q: %v", test.lines, err)
		}
	}
}

// crons are the quoted values of a key in a file, in order.
func crons(content, key string) (all []string) {
	for line := range strings.Lines(content) {
		if _, rest, ok := strings.Cut(line, key+": \""); ok {
			value, _, _ := strings.Cut(rest, `"`)
			all = append(all, value)
		}
	}
	return slices.Clip(all)
}
