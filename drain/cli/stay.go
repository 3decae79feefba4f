package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/seed829e008e/ebb/deploy/serve"
)

// filesPerHandler is the most files that ebb has open for one at work: while a command starts, three pipes with both their
// ends, what tells whether it started, and the process itself.
const filesPerHandler = 16

// stay has a service do runs until a signal, or until one of them left a handler behind. Each run is over when its time is,
// where there is a bound besides its budget.
func (p *program) stay(ctx context.Context, s serve.Service, r prepared, bound time.Duration, l net.Listener) error {
	r.resident = true
	var last error
	s.Log = r.config.Log
	s.RunFiles = filesPerHandler * r.config.WithDefaults().Concurrency
	s.Run = func(ctx context.Context) serve.Result {
		started := time.Now()
		if bound > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, started.Add(bound))
			defer cancel()
		}
		last = p.runOnce(ctx, r, started)
		var run runEnd
		errors.As(last, &run)
		return serve.Result{Status: exitStatus(last), Summary: summaryJSON(run.report), Looked: run.report.Looked, Unfit: run.report.Abandoned > 0}
	}
	result, err := s.Serve(ctx, l)
	switch {
	case err != nil:
		return fmt.Errorf("the address cannot be listened on any more: %w; start ebb again", err)
	case result.Status != ended:
		return last
	}
	return nil
}
