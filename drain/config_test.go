package drain

import (
	"context"
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
		"DATABASE_URL":              func(c *Config) { c.Database = nil },
		"no queue has a handler":    func(c *Config) { c.Queues = nil },
		"queue q has no handler":    func(c *Config) { c.Queues[0].Handler = nil },
		"queue q is given twice":    func(c *Config) { c.Queues = append(c.Queues, c.Queues[0]) },
		"EBB_BATCH":                 func(c *Config) { c.Batch = -1 },
		"EBB_LEASE":                 func(c *Config) { c.Lease = time.Millisecond },
		"EBB_GRACE":                 func(c *Config) { c.Grace = 2 * time.Hour },
		"none of its jobs could be": func(c *Config) { c.MaxRuntime, c.Queues[0].Timeout = time.Minute, 45*time.Second },
	} {
		c := ok()
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want a word of %s, got %v", text, err)
		}
	}
	c := Config{Batch: -1, Grace: -1}
	if err := c.Check(); strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("not all mistakes at once: %v", err)
	}
}
