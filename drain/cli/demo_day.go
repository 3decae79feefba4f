package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
)

// A demoDay is the demo's second part: two computes that people leave jobs in at random. One is drained by runs of ebb,
// the other by a worker that polls.
type demoDay struct {
	demoPace
	drained, polled *local.Compute

	mu       sync.Mutex
	began    time.Time // zero before the day
	lines    []string  // what happened, in words
	arrivals []demoArrival
	runs     []demoSpan
	away     bool       // the database paused under the run that is under way
	awake    []demoSpan // where ebb drains
	other    []demoSpan // where a worker polls
	err      error      // the first of a run, a visit or the worker
}

func newDemoDay(pace demoPace) *demoDay {
	made := []demoSpan{{from: time.Now()}} // computes start awake
	return &demoDay{demoPace: pace, awake: made, other: slices.Clone(made)}
}

// A demoSpan is a time in the day. It has no end while it lasts.
type demoSpan struct {
	from, to time.Time
	by       string // of a time awake: who woke it up
}

type demoArrival struct {
	at   time.Time
	jobs int
}

// demoDay lets the day go by and gives what is to be told of it. It ends early when ctx does.
func (p *program) demoDay(ctx context.Context, d *demoDay) (string, error) {
	p.say("\nA day in fast-forward: people leave documents at random, ebb wakes every %v,\n"+
		"and the database pauses when neither needs it. A second one gets the same\n"+
		"documents, and has a worker that polls it four times a second.\n", d.every)
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	var busy sync.WaitGroup
	defer busy.Wait()
	defer cancel()
	busy.Go(func() { d.poll(working) })
	for !d.drained.IsPaused() && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	drained, polled := d.drained.Usage(), d.polled.Usage()
	d.begin()
	busy.Go(func() { d.wake(working) })
	busy.Go(func() { d.visit(working) })
	p.demoShow(working, d)
	length := time.Since(d.began)
	shares := []time.Duration{d.drained.Usage().Awake - drained.Awake, d.polled.Usage().Awake - polled.Awake}
	d.mu.Lock()
	err := d.err
	d.mu.Unlock()
	cancel()
	busy.Wait()
	if err != nil {
		return "", err
	}
	return d.tell(length, shares), nil
}

func (d *demoDay) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Now()
}

// sleep waits until a moment of the day, and says whether the day goes on.
func (d *demoDay) sleep(ctx context.Context, until time.Duration) bool {
	select {
	case <-time.After(time.Until(d.began.Add(until))):
		return true
	case <-ctx.Done():
		return false
	}
}

// wake runs ebb now and then, as a scheduler would.
func (d *demoDay) wake(ctx context.Context) {
	for at := d.first; d.sleep(ctx, at); at += d.every {
		d.mu.Lock()
		d.away = false
		d.runs = append(d.runs, demoSpan{from: time.Now()})
		d.mu.Unlock()
		report, err := drain.Run(ctx, drain.Config{
			Database: urlOf(d.drained, "ebb"), MaxRuntime: time.Minute, Grace: time.Second, JobTimeout: 20 * time.Second,
			Version: Version(), Queues: []drain.Queue{{Name: demoQueue, Handler: demoScan}},
		})
		d.mu.Lock()
		end(d.runs, time.Now())
		if err != nil && ctx.Err() == nil {
			d.fail(fmt.Errorf("a run of ebb: %w", err))
		}
		d.say("ebb ran for %.1f s, connected after %.1f s: %s", seconds(report.RunMS), seconds(report.ConnectMS), progressText(report))
		d.mu.Unlock()
	}
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

// demoScan is the day's handler: it takes as long as the document says.
func demoScan(ctx context.Context, job drain.Job) error {
	var document struct{ Ms int }
	if err := json.Unmarshal(job.Payload, &document); err != nil {
		return drain.Fail(err)
	}
	select {
	case <-time.After(time.Duration(document.Ms) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// visit lets people come and leave documents.
func (d *demoDay) visit(ctx context.Context) {
	slow := d.slow
	at := d.first / 10
	for ; d.sleep(ctx, at); at += d.visits/3 + time.Duration(rand.ExpFloat64()*float64(d.visits)*2/3) {
		jobs := make([]drain.NewJob, 1+rand.IntN(5))
		for i := range jobs {
			ms := 50 + rand.IntN(400)
			if slow {
				ms, slow = 4000, false
			}
			jobs[i] = drain.NewJob{Queue: demoQueue, Payload: json.RawMessage(fmt.Sprintf(`{"ms": %d}`, ms))}
		}
		d.mu.Lock()
		d.arrivals = append(d.arrivals, demoArrival{time.Now(), len(jobs)})
		d.say("somebody comes and leaves %s", plural(len(jobs), "document"))
		d.mu.Unlock()
		var both sync.WaitGroup
		for _, c := range []*local.Compute{d.drained, d.polled} {
			both.Go(func() {
				err := as(ctx, c, "visitor", func(conn *pgx.Conn) error {
					_, err := drain.EnqueueMany(ctx, conn, defaultSchema, jobs)
					return err
				})
				if err != nil && ctx.Err() == nil {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.fail(fmt.Errorf("a visit: %w", err))
				}
			})
		}
		both.Wait()
	}
}

// happened takes in the events of the compute that ebb drains.
func (d *demoDay) happened(e local.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	works := len(d.runs) > 0 && d.runs[len(d.runs)-1].to.IsZero()
	switch e.What {
	case local.Resuming:
		d.awake = append(d.awake, demoSpan{from: e.At, by: e.Client})
		switch {
		case e.Client != "ebb":
		case works && d.away:
			d.say("the handler is done: the database resumes, so that ebb can settle")
		default:
			d.say("ebb wakes, and the database resumes")
		}
	case local.Paused:
		end(d.awake, e.At)
		d.away = works
		switch {
		case e.Err != nil:
			d.fail(fmt.Errorf("the demo's Postgres: %w", e.Err))
		case works:
			d.say("the database pauses while a handler works")
		default:
			d.say("nobody needs it: the database pauses")
		}
	}
}

func (d *demoDay) happenedToPolled(e local.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e.What {
	case local.Resuming:
		d.other = append(d.other, demoSpan{from: e.At, by: e.Client})
	case local.Paused:
		end(d.other, e.At)
	}
}

// end ends the last span.
func end(spans []demoSpan, at time.Time) { spans[len(spans)-1].to = at }

// fail keeps the first error, which ends the day. The caller holds mu.
func (d *demoDay) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// say adds to what happened. The caller holds mu.
func (d *demoDay) say(format string, args ...any) {
	if !d.began.IsZero() {
		d.lines = append(d.lines, fmt.Sprintf("%5.1f s  ", time.Since(d.began).Seconds())+fmt.Sprintf(format, args...))
	}
}
