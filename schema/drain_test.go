package schema_test

import (
	"testing"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
)

// Package drain does not import this one, so that a worker carries no migrations: it only knows which version it needs.
func TestDrainNeedsThisVersion(t *testing.T) {
	if drain.SchemaVersion != schema.Version {
		t.Errorf("drain needs version %d, the migrations make %d", drain.SchemaVersion, schema.Version)
	}
}
