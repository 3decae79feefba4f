package command

import (
	"errors"
	"reflect"
	"testing"

	"github.com/seed829e008e/ebb/drain"
)

func TestMeaningOf(t *testing.T) {
	for _, test := range []struct {
		status        int
		byItself      meaning
		whenToldToEnd meaning
	}{
		{0, done, done},
		{1, retried, retried},
		{2, retried, retried},
		{64, retried, retried},
		{65, failed, failed},
		{66, retried, retried},
		{69, suspended, suspended},
		{75, foreseen, foreseen},
		{78, misconfigured, retried},
		{125, retried, retried},
		{126, misconfigured, retried},
		{127, misconfigured, retried},
		{128, retried, retried},
		{137, retried, retried},
		{143, retried, retried},
		{255, retried, retried},
		{-1, retried, retried},
	} {
		if got := meaningOf(test.status, false); got != test.byItself {
			t.Errorf("%d: %v, want %v", test.status, got, test.byItself)
		}
		if got := meaningOf(test.status, true); got != test.whenToldToEnd {
			t.Errorf("%d when told to end: %v, want %v", test.status, got, test.whenToldToEnd)
		}
	}
}

func TestVerdict(t *testing.T) {
	reason := errors.New("reason")
	for m, want := range map[meaning]error{
		done:          nil,
		retried:       reason,
		failed:        drain.Fail(reason),
		suspended:     drain.Suspend(reason),
		foreseen:      drain.RetryAfter(0, reason),
		misconfigured: drain.Misconfigured(reason),
	} {
		if got := m.verdict(reason); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %#v, want %#v", m, got, want)
		}
	}
}

// notStarted is no meaning of an exit status.
const notStarted meaning = -1

// meant finds the meaning back in an answer.
func meant(err error) meaning {
	if err == nil {
		return done
	}
	reason := errors.Unwrap(err)
	if reason != nil && reflect.DeepEqual(err, drain.NotStarted(reason)) {
		return notStarted
	}
	for _, m := range []meaning{failed, suspended, foreseen, misconfigured} {
		if reason != nil && reflect.DeepEqual(err, m.verdict(reason)) {
			return m
		}
	}
	return retried
}
