// Package lambda is the entry point of runs in an AWS Lambda function: the process asks the platform for invocations and
// answers each, by the client that AWS publishes.
//
//	Scheduler ── invocation ──► run ── answer ──► frozen ── invocation ──► run ── answer ──► ... ── TERM ──► gone
//
// Between an answer and the next invocation the process is frozen, however many minutes that takes: no timer fires, no
// connection is served. So a run must leave nothing that ticks or holds on.
package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// Variable is in the environment of every Lambda function that brings its own runtime.
const Variable = "AWS_LAMBDA_RUNTIME_API"

// Notice is what a run has between TERM and its last settle: the platform kills half a second after the signal, and the
// answer is to be away by then.
const Notice = 350 * time.Millisecond

// answering is how long an answer may be on its way when the process is to end. The client does not say when it is away,
// and the platform, which kills half a second after the signal, loses nothing by the rest.
const answering = time.Second

// A Run does one invocation's work. Its context ends with the invocation's time, and with the signal. The answer is
// JSON.
type Run func(context.Context) (answer []byte, err error)

// A Failure is an error of a Run as AWS is to show it.
type Failure struct {
	Kind string // the error's type
	Text string
	// Unfit says that the process must serve no other invocation: it is ended after the answer, and AWS starts a new one.
	Unfit bool
}

func (f Failure) Error() string { return f.Text }

// Serve answers invocations, one at a time, until ctx ends; a run that is under way then ends first. Where the platform
// can no longer be asked, the process ends with status 1.
func Serve(ctx context.Context, run Run) {
	t := &turns{ctx: ctx, run: run, turn: make(chan struct{}, 1)}
	// Without an extension, and WithEnableSIGTERM registers one, the platform kills at once.
	go lambda.StartWithOptions(t.invoke, lambda.WithEnableSIGTERM())
	<-ctx.Done()
	t.turn <- struct{}{}
	time.Sleep(time.Until(t.last.Add(answering)))
}

// turns are taken by invocations: a platform that has several of them in one process gets one run after the other.
type turns struct {
	ctx  context.Context
	run  Run
	turn chan struct{} // full while there is a run
	last time.Time     // a run ended; whose turn it is has it
}

func (t *turns) invoke(invocation context.Context) (json.RawMessage, error) {
	select {
	case t.turn <- struct{}{}:
	case <-invocation.Done():
		return nil, told(Failure{Kind: "Ebb.Busy", Text: "another invocation's run took all the time that this one had: nothing was claimed"})
	}
	defer func() {
		t.last = time.Now()
		<-t.turn
	}()
	ctx, cancel := context.WithCancelCause(invocation)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
	answer, err := t.run(ctx)
	if err != nil {
		return nil, told(err)
	}
	return answer, nil
}

// told puts an error into the form that the platform takes.
func told(err error) error {
	f := Failure{Kind: "Ebb.Error", Text: err.Error()}
	errors.As(err, &f)
	return messages.InvokeResponse_Error{Type: f.Kind, Message: f.Text, ShouldExit: f.Unfit}
}
