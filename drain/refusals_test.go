package drain

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// What is refused is asked for a few times with one secret, and then not at all until the secret is another.
func TestRefusals(t *testing.T) {
	read := func(password string) *pgx.ConnConfig {
		config, err := pgx.ParseConfig("postgres://joe:" + password + "@127.0.0.1/jobs")
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	no, empty := errors.New("refused"), errors.New("the file is empty")
	var none *refusals
	if none.another(read("old"), no) || none.stays(read("old"), nil) != nil {
		t.Error("a run that was never let in asks again")
	}
	r := &refusals{}
	for i, step := range []struct {
		config *pgx.ConnConfig
		read   error
		stays  bool
		again  bool
	}{
		{read("old"), nil, false, true},
		{read("old"), nil, false, true},
		{nil, empty, false, true}, // another trouble begins anew
		{read("old"), nil, false, true},
		{read("old"), nil, false, true},
		{read("old"), nil, false, true},
		{read("old"), nil, false, false},
		{read("old"), nil, true, false},
		{read("new"), nil, false, true},
	} {
		final := r.stays(step.config, step.read)
		if (final != nil) != step.stays {
			t.Errorf("step %d: final is %v", i, final)
		}
		if final != nil {
			continue
		}
		err := no
		if step.read != nil {
			err = step.read
		}
		if got := r.another(step.config, err); got != step.again {
			t.Errorf("step %d: asks again is %v", i, got)
		}
	}
	r.reset()
	if r.n != 0 || r.stays(read("new"), nil) != nil {
		t.Errorf("after a connection: %+v", r)
	}
}
