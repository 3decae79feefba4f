package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/deploy/serve"
)

func (p *program) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Stay, and drain the queues by EBB_SCHEDULE and when called",
		Long: `Stay, where there is no scheduler, or where an app wakes the worker as soon as it has committed a job. Runs are those
of ebb run, with the same settings: each has EBB_MAX_RUNTIME from its own start, and its summary is a line on standard
output. Between them ebb has no connection and asks the database nothing.

Runs start by EBB_SCHEDULE (in the zone of the variable TZ where a line names none, else in UTC), and on POST /run with the
header "Authorization: Bearer <token>", the token being what EBB_TOKEN or EBB_TOKEN_FILE says. There is one run at once. A
time of the schedule that comes meanwhile is skipped. Calls that come meanwhile have one more run follow, which they share,
since the run in progress may have looked before the callers committed. The answer comes when the run has ended: its
summary, with the HTTP status 200 where ebb run would exit with 0 and 500 where it would not, or 503 where ebb stops and
the run ended before it could count what is left. The exit status is in the header Ebb-Exit-Status. A caller who goes away ends no run.

GET /healthz says whether ebb is idle or running, and asks no database. When ebb stops it takes no new connections; who is
still connected gets 503.

A run that fails ends nothing: the next one tries again. The first SIGTERM or SIGINT stops the run in progress as it does
in ebb run, and then ebb: leave it EBB_GRACE and five seconds. The second ends everything at once.

Exit status: 0 stopped by a signal while no run was in progress; that of ebb run where the signal stopped a run, or a run
abandoned a handler, which ends ebb too; 1 the address cannot be listened on; 78 usage or settings; 128 + n a second
signal.`,
		Example: `  EBB_SCHEDULE='*/30 * * * *' ebb serve --queue email -- ./send-email
  EBB_TOKEN_FILE=/run/secrets/ebb-token EBB_QUEUE_EMAIL_COMMAND=./send-email ebb serve --addr :8080
  curl -X POST -H "Authorization: Bearer $EBB_TOKEN" http://127.0.0.1:8080/run`,
		Args: nothingButDash,
	}
	by := drainFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		_, behind := atDash(c, args)
		return p.serve(c.Context(), *by, behind)
	}
	return c
}

func (p *program) serve(ctx context.Context, by given, behind dash) error {
	environ := environment(p.environ)
	c, _ := p.load(by)
	addr, unusable := c.address(environ, by)
	token, untold := c.token(by)
	mistakes := []error{unusable, untold}
	zone, _, err := zoneOf(environ)
	for _, s := range c.Schedule {
		if _, named := s.Zone(); !named && err != nil {
			mistakes = append(mistakes, err)
			break
		}
	}
	r, err := p.prepare(by, behind)
	if mistakes = append([]error{err}, mistakes...); errors.Join(mistakes...) != nil {
		return asUsage(errors.Join(mistakes...))
	}
	l, err := addr.listen()
	if err != nil {
		return err
	}
	s := serve.Service{Token: token}
	about := []any{"address", l.Addr().String()}
	if set := c.Schedule.In(zone); len(set) > 0 {
		s.Next = set.Next
		next, _ := set.Next(time.Now())
		about = append(about, "schedule", set.String(), "next_run", next)
	}
	if token == nil {
		about = append(about, "calls", "refused: neither EBB_TOKEN nor EBB_TOKEN_FILE is set")
	}
	r.config.Log.Info("serving", about...)
	if token == nil && len(c.Schedule) == 0 {
		r.config.Log.Error("nothing will ever start a run: set EBB_SCHEDULE, for example to '*/30 * * * *', or EBB_TOKEN for POST /run")
	}
	if token != nil {
		if text, err := token(); err == nil && len(text) < shortestToken {
			r.config.Log.Warn("the token is short enough to be guessed; use a longer one, " + aToken)
		}
	}
	return p.stay(ctx, s, r, 0, l)
}
