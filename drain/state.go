package drain

import (
	"slices"
	"time"
)

// A state is what a run knows: what is in flight, what it learned of its queues, and how far it has come. It does
// nothing by itself: it has no clock, no database and no goroutine. [state.step] says what is to be done; only the run's
// own goroutine changes it.
type state struct {
	config   Config
	deadline time.Time // of the budget
	queues   []*queue  // with the tasks that wait to start

	running   []*task
	abandoned []*task       // their handlers have not returned; their leases are still extended
	finished  []*task       // to be settled, oldest first
	slowest   time.Duration // of the handlers of those
	unstarted bool          // one of those never started
	locked    []*task       // finished too, but somebody else had the row locked: asked again at askAt
	unread    *task         // the one that waits for its payload, or nil
	underWay  *request      // the exchange without its answer yet, or nil

	lost []int64 // ids whose rows this run leaves as they are, though some may still run under its id
	skip []int64 // ids that this run gave back, left out of its claims
	late []*task // finished, and their leases ended before their settlement was answered: looked up at the run's end

	alone    turns
	claims   int           // jobs claimed so far
	short    bool          // the last claim got less than it asked for, and nothing was settled since
	empty    bool          // a claim with nothing in flight got nothing
	took     time.Duration // the last exchange
	pace     time.Duration // the slowest of the handlers that the last exchange settled
	lookAt   time.Time     // no task in flight needs a look before
	failed   bool          // nothing more is claimed because of an error, though the run goes on with what it has
	stop     stop
	reap     bool      // leases that ran out may be left
	orphans  bool      // an exchange with a claim was sent and not answered
	resumed  bool      // an exchange was made since the stop began
	cut      bool      // the exchange under way was ended
	canceled bool      // the handlers' contexts were
	pausedTo time.Time // after an error: no exchange until then

	connected bool          // as far as is known
	usedAt    time.Time     // when the last exchange ended
	sentAt    time.Time     // of the exchange under way
	lingerTo  time.Time     // lingering until then, or zero
	lingered  time.Duration // so far
}

func newState(config Config, end time.Time) *state {
	s := &state{config: config, deadline: end, reap: true, alone: turns{half: config.Started.Add(config.MaxRuntime / 2)}}
	for _, q := range config.Queues {
		s.queues = append(s.queues, &queue{Queue: q})
	}
	return s
}

func (s *state) queue(name string) *queue {
	i := slices.IndexFunc(s.queues, func(q *queue) bool { return q.Name == name })
	return s.queues[i]
}

// slots is how many handlers may work at once. An abandoned one keeps its slot.
func (s *state) slots() int { return s.config.Concurrency - len(s.abandoned) }

// fits says whether a job of this queue, started now, would end in time.
func (s *state) fits(q *queue, now time.Time) bool {
	return !now.Add(q.Timeout + s.config.Grace).After(s.deadline)
}

// waiting is how many claimed jobs have not started.
func (s *state) waiting() (n int) {
	for _, q := range s.queues {
		n += len(q.waiting)
	}
	return n
}

// holds says whether anything is in flight that the run waits for.
func (s *state) holds() bool {
	return len(s.running)+len(s.finished)+len(s.locked)+s.waiting() > 0 || s.underWay != nil && len(s.underWay.settles) > 0
}

// unsettled are the tasks whose handlers ended, or never started, and whose rows are not known to say so.
func (s *state) unsettled() []*task {
	tasks := slices.Concat(s.finished, s.locked, s.late)
	if s.underWay != nil {
		tasks = append(tasks, s.underWay.settles...)
	}
	return tasks
}

// live are the tasks whose leases still matter to somebody: those that wait, run or were abandoned.
func (s *state) live() (tasks []*task) {
	for _, q := range s.queues {
		tasks = append(tasks, q.waiting...)
	}
	return append(append(tasks, s.running...), s.abandoned...)
}

// inFlight are the ids of all jobs that run under this run's id for a reason.
func (s *state) inFlight() []int64 {
	ids := slices.Clone(s.lost)
	for _, t := range append(s.live(), s.unsettled()...) {
		ids = append(ids, t.job.ID)
	}
	return ids
}

// add takes a claimed job into flight.
func (s *state) add(t *task) {
	t.queue.waiting = append(t.queue.waiting, t)
	if t.unread {
		s.unread = t
	}
	s.lookAt = earlier(s.lookAt, s.extendAt(t))
}

// dropWaiting takes a task out of those that wait.
func (s *state) dropWaiting(t *task) {
	t.queue.waiting = slices.DeleteFunc(t.queue.waiting, func(other *task) bool { return other == t })
	if s.unread == t {
		s.unread = nil
	}
}

// start moves a task from those that wait to those that run.
func (s *state) start(t *task, now time.Time) {
	q := t.queue
	if i := slices.Index(q.waiting, t); i == 0 {
		q.waiting = q.waiting[1:]
	} else {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.running++
	t.started, t.place = now, len(s.running)
	s.running = append(s.running, t)
	s.lookAt = earlier(s.lookAt, earlier(s.extendAt(t), s.overdueAt(t)))
}

// leave takes a task out of those that run.
func (s *state) leave(t *task) {
	last := s.running[len(s.running)-1]
	s.running[t.place], last.place = last, t.place
	s.running = s.running[:len(s.running)-1]
	t.queue.running--
}

// finish takes in a task whose settlement is known.
func (s *state) finish(t *task, now time.Time, as settlement) {
	t.ended, t.settlement = now, as
	s.settleSoon(t)
}

// settleSoon puts a task among those to be settled.
func (s *state) settleSoon(t *task) {
	s.finished = append(s.finished, t)
	if t.started.IsZero() {
		s.unstarted = true
	} else {
		s.slowest = max(s.slowest, t.ended.Sub(t.started))
	}
}

// send takes a request for under way, with the tasks that it settles.
func (s *state) send(req *request, now time.Time) {
	s.finished, s.slowest, s.unstarted = nil, 0, false
	s.locked = slices.DeleteFunc(s.locked, func(t *task) bool { return !now.Before(t.askAt) })
	s.underWay, s.sentAt, s.resumed = req, now, s.stop.begun()
}

// never is later than any run.
var never = time.Unix(1<<40, 0)

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
