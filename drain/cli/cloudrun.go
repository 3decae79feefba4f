package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed829e008e/ebb/deploy/serve"
)

const (
	// usualRequest is how long a service of Cloud Run lets a request take unless it is told otherwise.
	usualRequest = 5 * time.Minute
	// noticeOnCloudRun is what a run has between TERM and its last settle: the platform kills ten seconds after the
	// signal, and the run's record may take two.
	noticeOnCloudRun = 8 * time.Second
)

// onCloudRun says whether this is a service of Cloud Run, or of Knative, whose variables are the same.
func onCloudRun(environ map[string]string) bool {
	return !blank(environ["K_SERVICE"]) && !blank(environ["PORT"])
}

// cloudRun answers each POST on $PORT with a run. Who may call is the platform's to say, so that a token is asked for only
// where one is set.
func (p *program) cloudRun(ctx context.Context) error {
	environ := environment(p.environ)
	c, _ := load(environ, given{})
	c.Addr = "" // the platform looks for PORT and nothing else
	addr, mistakes := c.address(environ)
	token, wrong := c.token(environ, given{})
	mistakes = append(mistakes, wrong...)
	if text, there := environ["EBB_TOKEN"]; there && blank(text) {
		// As unset it would open to everybody what somebody meant to close.
		mistakes = append(mistakes, errors.New("EBB_TOKEN is there but blank; set it, say to the output of: openssl rand -hex 32, or unset it"))
	}
	limit, err := requestLimit(environ, c.MaxRuntime)
	if err != nil {
		mistakes = append(mistakes, err)
	}
	r, err := p.prepare(given{}, nil)
	if err == nil && len(mistakes) == 0 {
		err = r.fit(limit)
	}
	if mistakes = append([]error{err}, mistakes...); errors.Join(mistakes...) != nil {
		return asUsage(errors.Join(mistakes...))
	}
	l, err := listen(addr)
	if err != nil {
		return err
	}
	r.config.Notice = noticeOnCloudRun
	bound := limit - reserve(limit)
	r.config.Log.Info("serving: a run for every POST", "address", l.Addr().String(), "longest_run", min(cmp.Or(c.MaxRuntime, bound), bound).String())
	return p.stay(ctx, serve.Service{Function: true, Token: token}, r, bound, l)
}

// requestLimit is how long a request may take. Where the platform does not say, the budget is believed, whose platform's
// limit is behind it then; and else the limit is the usual one.
func requestLimit(environ map[string]string, budget time.Duration) (time.Duration, error) {
	const variable = "CLOUD_RUN_TIMEOUT_SECONDS"
	text := strings.TrimSpace(environ[variable])
	if text == "" {
		if budget > 0 {
			return budget + 4*time.Second, nil // more than what is reserved of it
		}
		return usualRequest, nil
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil || seconds == 0 {
		return 0, fmt.Errorf("%s: %q is not a number of seconds", variable, text)
	}
	return time.Duration(seconds) * time.Second, nil
}
