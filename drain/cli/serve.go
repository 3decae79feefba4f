package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/deploy/serve"
)

func (p *program) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Stay, and drain the queues by EBB_SCHEDULE and when called",
		Long: `Stay, where there is no scheduler, or where an app shall wake the worker as soon as it has committed a job. Runs are those
of ebb run, with the same settings: each has EBB_MAX_RUNTIME from its own start, and its summary is a line on standard
output. Between them ebb has no connection and asks the database nothing.

Runs start by EBB_SCHEDULE (in the zone of the variable TZ where a line names none, else in UTC), and on POST /run with the
header "Authorization: Bearer <token>", the token being what EBB_TOKEN or EBB_TOKEN_FILE says. There is one run at once. A
time of the schedule that comes meanwhile is skipped. A call that comes meanwhile has one more run follow, which all such
calls share, since the run in progress may have looked before the caller committed. The answer comes when that run has
ended: its summary, with status 200, or 500 where ebb run would not exit with 0; the header Ebb-Exit-Status has that
status. A caller who goes away ends no run.

GET /healthz says whether ebb is idle, running or stopping (503), and asks no database.

A run that fails ends nothing: the next one tries again. The first SIGTERM or SIGINT stops the run in progress as it does
in ebb run, and then ebb: leave it EBB_GRACE and five seconds. The second ends everything at once.

Exit status: 0 stopped by a signal; that of ebb run for the run that was in progress then, or that abandoned a handler,
which ends ebb too; 1 the address cannot be listened on; 78 usage or settings; 128 + n a second signal.`,
		Example: `  EBB_SCHEDULE='*/30 * * * *' ebb serve -- ./send-email
  EBB_TOKEN_FILE=/run/secrets/ebb-token EBB_QUEUE_EMAIL_COMMAND=./send-email ebb serve --addr :8080
  curl -X POST -H "Authorization: Bearer $EBB_TOKEN" http://127.0.0.1:8080/run`,
		Args: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return wrong("serve takes no arguments but a command behind --: ebb serve --queue email -- ./send-email")
			}
			return nil
		},
	}
	by := settingFlags(c)
	c.Flags().StringArrayVar(&by.queues, "queue", nil, "queue to drain, in order; may be repeated (default: configured ones, by name) [EBB_QUEUES]")
	c.RunE = func(c *cobra.Command, args []string) error {
		var behind dash
		if c.ArgsLenAtDash() == 0 && len(args) > 0 {
			behind = args
		}
		return p.serve(c.Context(), *by, behind)
	}
	return c
}

func (p *program) serve(ctx context.Context, by given, behind dash) error {
	environ := environment(p.environ)
	c, unread := load(environ, by)
	addr, mistakes := c.address(environ)
	token, wrong := c.token(environ, by)
	mistakes = append(mistakes, wrong...)
	zone, _, err := zoneOf(environ)
	for _, s := range c.Schedule {
		if _, named := s.Zone(); !named && err != nil {
			mistakes = append(mistakes, err)
			break
		}
	}
	if len(c.Schedule) == 0 && token == nil && len(mistakes) == 0 && len(unread) == 0 {
		mistakes = append(mistakes, errors.New("nothing would ever start a run: set EBB_SCHEDULE, for example to '*/30 * * * *', or EBB_TOKEN for POST /run"))
	}
	r, err := p.prepare(by, behind)
	if mistakes = append([]error{err}, mistakes...); errors.Join(mistakes...) != nil {
		return asUsage(errors.Join(mistakes...))
	}
	l, err := listen(addr)
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
		about = append(about, "calls", "refused: EBB_TOKEN is not set")
	}
	r.config.Log.Info("serving", about...)
	return p.stay(ctx, s, r, 0, l)
}

// stay serves until a signal. Each run is over when its time is, where there is a bound besides its budget.
func (p *program) stay(ctx context.Context, s serve.Service, r prepared, bound time.Duration, l net.Listener) error {
	defer p.running.ReapStrays()()
	r.resident = true
	var last error
	s.Log = r.config.Log
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
		return serve.Result{Status: exitStatus(last), Summary: summaryJSON(run.report), Unfit: run.report.Abandoned > 0}
	}
	result, err := s.Serve(ctx, l)
	switch {
	case err != nil:
		return fmt.Errorf("the address cannot be listened on any more: %w", err)
	case result.Status != ended:
		return last
	}
	return nil
}

// listen takes the address.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is in use; stop what listens there, or set EBB_ADDR to another one", addr)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be listened on: %w; set EBB_ADDR to another one", addr, err)
	}
	return l, nil
}
