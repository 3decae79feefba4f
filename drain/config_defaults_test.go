package drain

import (
	"testing"
	"time"
)

func TestWithDefaults(t *testing.T) {
	for _, test := range []struct {
		name           string
		config         Config
		budget         time.Duration
		grace, notice  time.Duration
		timeout, queue time.Duration
		slots          int
	}{
		{"nothing is set", Config{}, time.Hour, 20 * time.Second, 20 * time.Second, 5 * time.Minute, 5 * time.Minute, 10},
		{"a short budget", Config{MaxRuntime: time.Minute}, time.Minute, 15 * time.Second, 15 * time.Second, 22500 * time.Millisecond, 22500 * time.Millisecond, 10},
		{"a long grace", Config{MaxRuntime: 10 * time.Minute, Grace: 2 * time.Minute}, 10 * time.Minute, 2 * time.Minute, 2 * time.Minute, 4 * time.Minute, 4 * time.Minute, 10},
		{"a timeout", Config{JobTimeout: time.Minute}, time.Hour, 20 * time.Second, 20 * time.Second, time.Minute, time.Minute, 10},
		{"the queue's own", Config{Queues: []Queue{{Timeout: 2 * time.Minute, Concurrency: 3}}}, time.Hour, 20 * time.Second, 20 * time.Second, 5 * time.Minute, 2 * time.Minute, 3},
		{"a queue of more slots than there are", Config{Concurrency: 4, Notice: time.Second, Queues: []Queue{{Concurrency: 9}}}, time.Hour, 20 * time.Second, time.Second, 5 * time.Minute, 5 * time.Minute, 4},
	} {
		if test.config.Queues == nil {
			test.config.Queues = []Queue{{Name: "mail"}}
		}
		before := test.config.Queues[0]
		full := test.config.WithDefaults()
		if full.MaxRuntime != test.budget || full.Grace != test.grace || full.Notice != test.notice || full.JobTimeout != test.timeout ||
			full.Queues[0].Timeout != test.queue || full.Queues[0].Concurrency != test.slots {
			t.Errorf("%s: %+v", test.name, full)
		}
		if full.Schema != "ebb" || full.Log == nil || full.Batch != 10 || full.Backoff != 10*time.Second || full.Queues[0].Backoff != 10*time.Second ||
			full.MaxBackoff != time.Hour || full.ConnectTimeout != time.Minute {
			t.Errorf("%s: %+v", test.name, full)
		}
		if now := test.config.Queues[0]; now.Timeout != before.Timeout || now.Concurrency != before.Concurrency {
			t.Errorf("%s: the queues of the configuration itself were changed", test.name)
		}
		if again := full.WithDefaults(); again.Grace != full.Grace || again.Queues[0].Timeout != full.Queues[0].Timeout {
			t.Errorf("%s: filled in twice it is another: %+v", test.name, again)
		}
	}
}
