package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// minuteField writes times of an hour, in seconds, as a field.
func minuteField(at []int) string {
	minutes := make([]int, len(at))
	for i, second := range at {
		minutes[i] = second / 60
	}
	return list(minutes, 60)
}

// lines writes times of a day, in seconds, as cron lines: one, unless different hours have different minutes.
func lines(at []int) (all []string) {
	hours := map[int][]int{}
	for _, second := range at {
		m := second / 60 % 60
		hours[m] = append(hours[m], second/3600)
	}
	minutes := map[string][]int{}
	for m, hs := range hours {
		field := list(hs, 24)
		minutes[field] = append(minutes[field], m)
	}
	for field, ms := range minutes {
		all = append(all, fmt.Sprintf("%s %s * * *", list(ms, 60), field))
	}
	slices.Sort(all)
	return all
}

// list writes values of a field that begins with 0 and has size of them: as a star, a step or ranges where that says it.
func list(values []int, size int) string {
	slices.Sort(values)
	if n := len(values); n > 2 || n == 2 && size == 2*(values[1]-values[0]) {
		step := values[1] - values[0]
		even := values[0] < step && values[n-1]+step >= size
		for i := 1; i < n; i++ {
			even = even && values[i]-values[i-1] == step
		}
		switch {
		case even && step == 1:
			return "*"
		case even && values[0] == 0:
			return fmt.Sprintf("*/%d", step)
		case even:
			return fmt.Sprintf("%d-%d/%d", values[0], size-1, step)
		}
	}
	var texts []string
	for i := 0; i < len(values); {
		n := 1 // values in a row
		for i+n < len(values) && values[i+n] == values[i]+n {
			n++
		}
		if n > 2 {
			texts = append(texts, fmt.Sprintf("%d-%d", values[i], values[i+n-1]))
			i += n
			continue
		}
		texts = append(texts, strconv.Itoa(values[i]))
		i++
	}
	return strings.Join(texts, ",")
}
