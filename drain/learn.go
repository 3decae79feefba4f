package drain

import "slices"

// learn draws a queue's conclusions from its handler's answer.
func (w *wake) learn(t *task, err error) {
	q, v := t.queue, verdictOf(err)
	switch {
	case v != nil && v.kind == verdictSuspend:
		if !q.suspended {
			w.config.Log.Warn("the handler suspended its queue for this run", "queue", q.Name, "id", t.job.ID, "error", storable(errorText(v)))
		}
		q.suspended = true
		w.report.Suspended = with(w.report.Suspended, q.Name)
	case v != nil && v.kind == verdictMisconfigured:
		if q.wrong != 0 && q.wrong != t.job.ID && !q.suspended {
			q.suspended = true
			w.config.Log.Error("two jobs in a row say that the handler is misconfigured: the queue stops for this run", "queue", q.Name)
		}
		q.wrong = t.job.ID
		w.report.Misconfigured = with(w.report.Misconfigured, q.Name)
		return
	case v != nil && v.kind == verdictNotStarted:
		if !q.suspended {
			w.config.Log.Error("the handler could not be started: this queue stops for this run and its jobs are given back",
				"queue", q.Name, "id", t.job.ID, "error", storable(errorText(v)))
		}
		q.suspended = true
		w.report.Misconfigured = with(w.report.Misconfigured, q.Name)
	}
	q.wrong = 0
}

func with(names []string, name string) []string {
	if i, found := slices.BinarySearch(names, name); !found {
		return slices.Insert(slices.Clone(names), i, name) // a report that was handed out keeps its own
	}
	return names
}
