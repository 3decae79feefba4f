package drain

import (
	"bytes"
	"encoding/json"
	"time"
)

// Why a run stopped.
const (
	StoppedEmpty  = "empty"  // nothing due that this run may still claim, nothing in flight
	StoppedTime   = "time"   // the budget: what is left could not have ended in time
	StoppedJobs   = "jobs"   // MaxJobs jobs were claimed
	StoppedSignal = "signal" // the context of Run ended
	StoppedError  = "error"  // the database was out of reach or lost, or refused a statement
)

// MostCounted bounds every count of what is left, a queue each: it is there to tell some from many. A count that reaches
// it says that there are at least so many.
const MostCounted = 10_000

// A Report says what a run did and what is left. Its JSON is the summary, the last line that ebb prints.
//
// Claimed = Done + Retried + Failed + Released + Lost + Abandoned. Rows failed because their attempts were already
// spent count in Reaped only.
type Report struct {
	Run     string `json:"run"`
	Stopped string `json:"stopped"`
	Error   string `json:"error"`

	Claimed   int `json:"claimed"`
	Done      int `json:"done"`
	Retried   int `json:"retried"`   // queued again later; the attempt counts
	Failed    int `json:"failed"`    // failed for good
	Released  int `json:"released"`  // queued again, the attempt given back
	Lost      int `json:"lost"`      // what became of it was not this run's to say any more
	Abandoned int `json:"abandoned"` // the handler did not return; the lease decides
	Reaped    int `json:"reaped"`    // leases of others that had run out, and jobs whose attempts were spent
	Pruned    int `json:"pruned"`

	// Vacuum is what became of the upkeep's VACUUM; empty where none was called for.
	Vacuum string `json:"vacuum"`

	// Looked is whether the run came to look at what is left. Without that the next four say nothing, and are null in the
	// JSON.
	Looked bool `json:"-"`
	// DueLeft counts due jobs in the queues drained here, Unhandled those in queues without a handler here, Leased the
	// jobs running under other runs; at most [MostCounted] are counted a queue.
	DueLeft   int        `json:"due_left"`
	Unhandled int        `json:"unhandled"`
	Leased    int        `json:"leased"`
	NextDueAt *time.Time `json:"next_due_at"`

	// Suspended and Misconfigured are the queues of which a handler said so in this run. Misconfigured also has those
	// whose handler could not be started because this machine is short of something.
	Suspended     []string `json:"suspended"`
	Misconfigured []string `json:"misconfigured"`

	ConnectMS int64 `json:"connect_ms"` // until the first connection was there
	RunMS     int64 `json:"run_ms"`     // from the process's start to the end
	Exchanges int   `json:"exchanges"`

	// FailedForGood is Failed and what of Reaped ended failed.
	FailedForGood int `json:"-"`
}

// MarshalJSON makes the summary, in which null says that something is not known.
func (r Report) MarshalJSON() ([]byte, error) {
	type report Report
	var value any = report(r)
	if !r.Looked {
		value = struct {
			report
			DueLeft   *int `json:"due_left"`
			Unhandled *int `json:"unhandled"`
			Leased    *int `json:"leased"`
		}{report: report(r)}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return b.Bytes(), err
}
