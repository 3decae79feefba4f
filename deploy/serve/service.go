package serve

import (
	"container/list"
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/robfig/cron/v3"
)

// A Service is runs by a schedule and by calls.
type Service struct {
	// Run does one run. It is to end it when ctx ends, in its own time, and is never called twice at once.
	Run func(ctx context.Context) Result
	// Next is the first time of the schedule after a given one. Nil where there is no schedule.
	Next func(after time.Time) (next time.Time, ok bool)
	// Token is asked at every call for the bearer token that it must bring. Nil where none is configured: then no call
	// is taken, unless this is a function.
	Token func() (string, error)
	// Function has a run belong to the requests that wait for it; see the package.
	Function bool
	// RunFiles is how many files a run may have open at once. Connections leave so many free.
	RunFiles int
	// Log gets what happens. It must be set.
	Log *slog.Logger
}

// A Result is what a run came to.
type Result struct {
	Status  int    // what ebb run would exit with
	Summary []byte // JSON
	Looked  bool   // it came to look at what is due
	Unfit   bool   // the process must not go on: something of the run is left in it
}

const (
	headerTime = 10 * time.Second // until a request's header, and then its body, is there
	answerTime = 10 * time.Second // until an answer is taken
	idleTime   = time.Minute      // between two requests of a connection
	mostHeader = 16 << 10         // bytes
	mostBody   = 64 << 10         // bytes
	// leaveTime is what is left for answers to be taken when the last run has ended.
	leaveTime = 2 * time.Second
)

// Serve listens until ctx ends, and takes the listener with it. Then no connection is taken any more, the run in
// progress ends as its context does, its callers get their summary, and whoever waits for another run is refused. A run
// that leaves the process unfit has Serve end in the same way. It gives the result of the last run where that was in
// progress when the end began, else the zero Result. An error means that nothing can be listened to any more.
func (s Service) Serve(ctx context.Context, l net.Listener) (last Result, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &turns{ctx: ctx, tied: s.Function, run: func(ctx context.Context) Result {
		result := s.Run(ctx)
		if result.Unfit {
			stop(errUnfit)
		}
		return result
	}}
	strangers := &tally{log: s.Log}
	defer strangers.end()
	room := &room{most: connections(fileLimit(), s.RunFiles), open: map[net.Conn]*list.Element{}}
	room.full = func() {
		strangers.note(slog.LevelWarn, "as many requests are open as ebb takes at once: others wait", "connections", room.most)
	}
	l = room.bounded(l)
	server := &http.Server{
		Handler:           &calls{Service: s, turns: t, strangers: strangers},
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          log.New(strangers, "", 0),
		ConnState:         room.changed,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if s.Next != nil {
		c := cron.New(cron.WithLogger(cron.DiscardLogger))
		c.Schedule(schedule(s.Next), cron.FuncJob(func() {
			if !t.tick() && ctx.Err() == nil {
				s.Log.Info("a run is in progress: this time of the schedule is skipped")
			}
		}))
		c.Start()
		defer c.Stop()
	}

	select {
	case <-ctx.Done():
	case err = <-served:
		stop(err)
	}
	s.Log.Info("serving no longer", "why", context.Cause(ctx).Error())
	l.Close() // the server goes on for who is connected
	if run := t.last(); run != nil {
		<-run.over
		last = run.result
	}
	leaving, leave := context.WithTimeout(context.Background(), leaveTime)
	defer leave()
	if server.Shutdown(leaving) != nil {
		server.Close()
	}
	return last, err
}

var errUnfit = errors.New("the last run left something at work that only the end of this process ends")

// A schedule is one as robfig/cron knows them: the zero time is never.
type schedule func(after time.Time) (time.Time, bool)

func (s schedule) Next(after time.Time) time.Time {
	next, ok := s(after)
	if !ok {
		return time.Time{}
	}
	return next
}
