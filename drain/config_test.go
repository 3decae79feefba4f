package drain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestConfigCheck(t *testing.T) {
	ok := func() Config {
		return Config{Database: func() (*pgx.ConnConfig, error) { return nil, nil }, Queues: []Queue{{Name: "q", Handler: func(context.Context, Job) error { return nil }}}}
	}
	if err := ok().Check(); err != nil {
		t.Error(err)
	}
	for text, change := range map[string]func(*Config){
		"Database: no":           func(c *Config) { c.Database = nil },
		"no queue has a handler": func(c *Config) { c.Queues = nil },
		"queue q has no handler": func(c *Config) { c.Queues[0].Handler = nil },
		"queue q is given twice": func(c *Config) { c.Queues = append(c.Queues, c.Queues[0]) },
		"Batch: -1":              func(c *Config) { c.Batch = -1 },
		"Lease: 1ms":             func(c *Config) { c.Lease = time.Millisecond },
		"Grace 2h0m0s":           func(c *Config) { c.Grace = 2 * time.Hour },
		"shorten Timeout of queue q, or lengthen MaxRuntime": func(c *Config) { c.MaxRuntime, c.Queues[0].Timeout = time.Minute, 45*time.Second },
	} {
		c := ok()
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want a word of %s, got %v", text, err)
		}
	}
	for text, change := range map[string]func(*Config){
		"MaxBackoff 1h0m0s is under Backoff 2h0m0s":            func(c *Config) { c.Backoff = 2 * time.Hour },
		"MaxBackoff 5s is under Backoff 10s":                   func(c *Config) { c.MaxBackoff = 5 * time.Second },
		"MaxBackoff 1h0m0s is under Backoff of queue q 1h0m1s": func(c *Config) { c.Queues[0].Backoff = time.Hour + time.Second },
		"MaxBackoff 999ms is under 1s":                         func(c *Config) { c.MaxBackoff, c.Backoff = 999*time.Millisecond, time.Millisecond },
		"": func(c *Config) { // nobody's base is over it
			c.MaxBackoff, c.Queues[0].Backoff, c.Lease = time.Second, time.Second, time.Second
		},
		"MaxBackoff 1s is under Backoff 2s": func(c *Config) {
			c.MaxBackoff, c.Backoff, c.Queues[0].Backoff = time.Second, 2*time.Second, time.Second
		},
	} {
		c := ok()
		change(&c)
		if said := fmt.Sprint(c.Check()); text == "" && said != "<nil>" || !strings.HasPrefix(said, text) || strings.Contains(said, "EBB_") {
			t.Errorf("want %s, got %v", text, said)
		}
	}
	c := ok()
	c.Queues[0].Backoff, c.Backoff, c.MaxRuntime, c.Grace = 3*time.Hour, 2*time.Hour, time.Minute, time.Minute
	c.NameOf = func(field, queue string) string { return "<" + queue + field + ">" }
	for _, text := range []string{"<MaxBackoff> 1h0m0s is under <Backoff> 2h", "<MaxBackoff> 1h0m0s is under <qBackoff> 3h", "<Grace> 1m0s leaves no time for a job within <MaxRuntime>"} {
		if said := fmt.Sprint(c.Check()); !strings.Contains(said, text) {
			t.Errorf("want %s in %s", text, said)
		}
	}
	c = Config{Batch: -1, Grace: -1}
	if err := c.Check(); strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("not all mistakes at once: %v", err)
	}
}
