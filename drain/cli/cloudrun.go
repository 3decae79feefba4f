package cli

import (
	"context"
	"errors"
	"time"

	"github.com/seed829e008e/ebb/deploy/serve"
)

// noticeOnCloudRun is what a run has between TERM and its last settle: the platform kills ten seconds after the signal, and
// the run's record may take two.
const noticeOnCloudRun = 8 * time.Second

// onCloudRun says whether this is a service of Cloud Run, or of Knative, whose variables are the same.
func onCloudRun(environ map[string]string) bool {
	return !blank(environ["K_SERVICE"]) && !blank(environ["PORT"])
}

// cloudRun answers each POST on $PORT with a run. Who may call is the platform's to say, so that a token is asked for only
// where one is set.
func (p *program) cloudRun(ctx context.Context) error {
	environ := environment(p.environ)
	c, _ := p.load(given{}) // what is wrong with it prepare says
	c.Addr = ""             // the platform looks for PORT and nothing else
	addr, unusable := c.address(environ, given{})
	token, untold := c.token(given{})
	request, unknown := requestLimit(environ, c.MaxRuntime)
	mistakes := errors.Join(unusable, untold, blankToken(environ), unknown)
	r, err := p.prepare(given{}, nil)
	if err == nil && mistakes == nil {
		err = r.fit(request)
	}
	if err := errors.Join(err, mistakes); err != nil {
		return asUsage(err)
	}
	l, err := addr.listen()
	if err != nil {
		return err
	}
	r.config.Notice = noticeOnCloudRun
	callers := "whoever the platform lets in"
	if token != nil {
		callers += " and has the token"
	}
	longest := min(r.config.WithDefaults().MaxRuntime, request.forRun())
	r.config.Log.Info("serving: a run for every POST", "address", l.Addr().String(), "callers", callers, "longest_run", longest.String())
	return p.stay(ctx, serve.Service{Function: true, Token: token}, r, request.forRun(), l)
}
