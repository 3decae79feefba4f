package drain

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A simulation is one schedule as it goes.
type simulation struct {
	*schedule
	table  *simTable
	server simServer
	runs   []*simRun
	over   chan struct{} // what hangs for ever ends then

	mu        sync.Mutex
	attempts  map[simKey]*simAttempt // the last of each
	all       []*simAttempt
	touched   map[int64]bool // by a hand, or overtaken
	overtaken map[int64]bool // by an exchange that its client had given up
	sticks    bool           // a row can be claimed and not given back
	reapedBy  map[int64]map[string]bool
	starts    map[int64]int
	late      bool     // what is committed now was given up by its client
	lines     []string // what happened
	verbose   bool
	wrong     []string
	end       []string // how the table and the reports were then
	foreign   bool     // the table is none of ours, so that only the runs can be judged
}

// A simServer makes exchanges, and has hands that change its rows.
type simServer interface {
	execute(run int, req request, isNew bool) (response, error)
	hand(what string, id int64)
	print() []string
}

// A simRun is one run in a simulation.
type simRun struct {
	simPlan
	n         int
	name      string
	db        *simDatabase
	wake      *wake
	report    Report
	err       error
	ended     time.Time
	signalled time.Time

	steps, atOnce int
	lastStep      time.Time
	abandoned     map[int64]bool
	stopping      stop
}

// simulate goes through a schedule in a bubble, where time passes as fast as it can.
func simulate(t *testing.T, p *schedule, server func(*simulation) simServer, verbose bool) *simulation {
	sim := &simulation{schedule: p, attempts: map[simKey]*simAttempt{}, touched: map[int64]bool{}, overtaken: map[int64]bool{}, reapedBy: map[int64]map[string]bool{}, starts: map[int64]int{}, verbose: verbose}
	synctest.Test(t, func(t *testing.T) {
		sim.over = make(chan struct{})
		sim.table = &simTable{rows: map[int64]*simRow{}, commit: sim.committed}
		for _, r := range p.rows {
			sim.table.rows[r.id] = &r
			sim.sticks = sim.sticks || r.refuses == "settle"
		}
		sim.server = simModel{sim.table}
		if server != nil {
			sim.server = server(sim)
		}
		for _, h := range p.hands {
			time.AfterFunc(h.at, func() { sim.hand(h) })
		}
		var runs sync.WaitGroup
		for i, plan := range p.runs {
			run := &simRun{simPlan: plan, n: i, name: fmt.Sprintf("run-%d", i+1), abandoned: map[int64]bool{}}
			sim.runs = append(sim.runs, run)
		}
		for _, run := range sim.runs {
			runs.Go(func() { sim.run(run) })
		}
		runs.Wait()
		time.Sleep(3 * time.Minute) // what is committed late
		sim.judge()
		sim.end = append(sim.end, sim.server.print()...)
		close(sim.over)
	})
	return sim
}

// run makes one run, from its start to its end.
func (sim *simulation) run(run *simRun) {
	time.Sleep(run.starts)
	defer func() {
		sim.mu.Lock()
		defer sim.mu.Unlock()
		run.ended = time.Now()
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signal := func() {
		sim.mu.Lock()
		defer sim.mu.Unlock()
		sim.noteLocked("%s: a signal", run.name)
		if run.signalled.IsZero() {
			run.signalled = time.Now()
		}
		cancel()
	}
	if run.signal > 0 {
		time.AfterFunc(run.signal, signal)
	}
	c := run.config
	c.Log, c.Started = slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now()
	if sim.verbose {
		c.Log = slog.New(slog.NewTextHandler(sim, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c.Queues = slices.Clone(c.Queues)
	for i := range c.Queues {
		c.Queues[i].Handler = sim.handler(run)
	}
	run.config = c.WithDefaults()
	run.db = &simDatabase{sim: sim, run: run, signal: signal}
	run.wake = newWake(ctx, run.config, Report{Run: run.name}, exchanger{run.db, run.config, 0})
	run.wake.decided = func(d decision, now time.Time) { sim.decided(run, d, now) }
	run.report, run.err = run.wake.toEnd()
	r := run.report
	summary := fmt.Sprintf("%s: %s claimed %d, done %d, retried %d, failed %d, released %d, lost %d, abandoned %d, reaped %d, exchanges %d, error %t",
		run.name, r.Stopped, r.Claimed, r.Done, r.Retried, r.Failed, r.Released, r.Lost, r.Abandoned, r.Reaped, r.Exchanges, run.err != nil)
	sim.note("%s", summary)
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.end = append(sim.end, summary)
}

// hand does what an operator does.
func (sim *simulation) hand(h simHand) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.noteLocked("a hand: %s %d", h.what, h.id)
	sim.touched[h.id] = true
	if h.what == "lock" {
		r := sim.table.rows[h.id]
		r.heldTo = later(r.heldTo, time.Now().Add(h.lasts))
		return
	}
	if sim.table.rows[h.id].isFree() { // else it would wait
		sim.server.hand(h.what, h.id)
	}
}

// note writes down what happened.
func (sim *simulation) note(format string, args ...any) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.noteLocked(format, args...)
}

func (sim *simulation) noteLocked(format string, args ...any) {
	sim.lines = append(sim.lines, fmt.Sprintf("%12v  ", time.Since(simEpoch))+fmt.Sprintf(format, args...))
}

// Write takes the runs' log.
func (sim *simulation) Write(line []byte) (int, error) {
	_, text, _ := strings.Cut(string(line), " ")
	sim.note("    %s", strings.TrimSpace(text))
	return len(line), nil
}

// fault writes down what must not be.
func (sim *simulation) fault(format string, args ...any) {
	sim.noteLocked("WRONG: "+format, args...)
	sim.wrong = append(sim.wrong, fmt.Sprintf(format, args...))
}

func (sim *simulation) wrongly(format string, args ...any) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.fault(format, args...)
}

// transcript is a number for all that happened, but for the order in which handlers start that start together.
func (sim *simulation) transcript() uint64 {
	h := fnv.New64a()
	for _, line := range slices.Sorted(slices.Values(sim.lines)) {
		io.WriteString(h, line)
	}
	return h.Sum64()
}

// in says whether a time lies within one of some spans, and the end of that.
func (sim *simulation) in(spans []simSpan) (end time.Time, is bool) {
	at := time.Since(simEpoch)
	for _, span := range spans {
		if at >= span.from && at < span.to {
			return simEpoch.Add(span.to), true
		}
	}
	return end, false
}

type simModel struct{ table *simTable }

func (m simModel) execute(_ int, req request, isNew bool) (response, error) {
	resp, err := m.table.execute(req)
	if err == nil && isNew {
		resp.now = simNow()
	}
	return resp, err
}
func (m simModel) hand(what string, id int64) { m.table.hand(what, id) }
func (m simModel) print() []string            { return m.table.print() }
