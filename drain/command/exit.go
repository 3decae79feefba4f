package command

import (
	"github.com/seed829e008e/ebb/drain"
)

// A meaning is what ebb takes an exit status for.
type meaning int

const (
	retried meaning = iota
	done
	failed
	suspended
	foreseen
	misconfigured
)

// meaningOf takes -1 for an end by a signal. A command that was told to end may still give a verdict of its own, but
// not blame its settings: shells give 126 and 127, too, for what was killed under them.
func meaningOf(status int, toldToEnd bool) meaning {
	switch status {
	case 0:
		return done
	case 65:
		return failed
	case 69:
		return suspended
	case 75:
		return foreseen
	case 78, 126, 127:
		if !toldToEnd {
			return misconfigured
		}
	}
	return retried
}

// verdict is the handler's answer of this meaning, with err as its reason.
func (m meaning) verdict(err error) error {
	switch m {
	case done:
		return nil
	case failed:
		return drain.Fail(err)
	case suspended:
		return drain.Suspend(err)
	case foreseen:
		return drain.RetryAfter(0, err)
	case misconfigured:
		return drain.Misconfigured(err)
	}
	return err
}
