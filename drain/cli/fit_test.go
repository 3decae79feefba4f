package cli

import (
	"testing"
	"time"
)

func TestFit(t *testing.T) {
	for _, test := range []struct {
		environ []string
		left    time.Duration
		want    string
	}{
		{nil, 3 * time.Second, ""}, // the least that anybody has: jobs are short then
		{[]string{"EBB_JOB_TIMEOUT=10m"}, 15 * time.Minute, ""},
		{[]string{"EBB_JOB_TIMEOUT=10m"}, 4990 * time.Millisecond,
			"the function's timeout of 5s leaves a run 4s, and EBB_JOB_TIMEOUT 10m and EBB_GRACE 1s together do not fit into that: nothing was claimed; lengthen the function's timeout, or shorten them"},
		{[]string{"EBB_JOB_TIMEOUT=1s", "EBB_QUEUE_SLOW_COMMAND=cat", "EBB_QUEUE_SLOW_NAME=Slow-1", "EBB_QUEUE_SLOW_TIMEOUT=2m"}, time.Minute,
			"the function's timeout of 1m leaves a run 57s, and EBB_QUEUE_SLOW_TIMEOUT 2m and EBB_GRACE 14s together do not fit into that: nothing was claimed; lengthen the function's timeout, or shorten them"},
		{[]string{"EBB_GRACE=1m"}, time.Minute,
			"the function's timeout of 1m leaves a run 57s, and EBB_GRACE 1m does not fit into that: nothing was claimed; lengthen the function's timeout, or shorten it"},
		{nil, 0, "the function's timeout leaves 0s, which is no time for a run: nothing was claimed; lengthen the function's timeout"},
		{nil, -time.Second, "the function's timeout leaves 0s, which is no time for a run: nothing was claimed; lengthen the function's timeout"},
	} {
		_, r, _ := function(t, append(test.environ, "DATABASE_URL="+nowhere, "EBB_QUEUE_MAIL_COMMAND=cat")...)
		err := r.fit(invocationLimit(test.left))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v in %v: %s\nwant %s", test.environ, test.left, got, test.want)
		}
		if err != nil && exitStatus(err) != refused {
			t.Errorf("exit status %d", exitStatus(err))
		}
	}
}
