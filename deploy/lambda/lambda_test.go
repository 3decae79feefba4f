//go:build unix

package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes this binary be a function where a test says so. What its run does BE_FUNCTION says.
func TestMain(m *testing.M) {
	be, ok := os.LookupEnv("BE_FUNCTION")
	if !ok {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() { cancel(fmt.Errorf("stopped by %v", <-signals)) }()
	Serve(ctx, func(ctx context.Context) ([]byte, error) {
		switch be {
		case "deadline":
			deadline, _ := ctx.Deadline()
			return json.Marshal(deadline.UnixMilli())
		case "wait":
			fmt.Println("at work")
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond) // a run settles what it has in hand
			return json.Marshal(context.Cause(ctx).Error())
		case "unfit":
			return nil, fmt.Errorf("wrapped: %w", Failure{Kind: "Ebb.Exit5", Text: "one handler is left", Unfit: true})
		}
		return nil, errors.New("plain")
	})
}

// A platform is the part of the Lambda runtime API that a function needs, as AWS describes it.
type platform struct {
	*testing.T
	address     string
	invocations chan time.Time // the deadline of each
	answers     chan string    // path and body
	extensions  chan string
}

func newPlatform(t *testing.T) *platform {
	p := &platform{T: t, invocations: make(chan time.Time), answers: make(chan string, 10), extensions: make(chan string, 1)}
	over := make(chan struct{})
	n := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case deadline := <-p.invocations:
			n++
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprint("request-", n))
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(deadline.UnixMilli()))
			io.WriteString(w, `{}`)
		case <-over:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{kind}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		p.answers <- r.PathValue("id") + "/" + r.PathValue("kind") + " " + strings.TrimSpace(string(body))
	})
	mux.HandleFunc("POST /2020-01-01/extension/register", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Lambda-Extension-Identifier", "the-extension")
		p.extensions <- r.Header.Get("Lambda-Extension-Name")
	})
	mux.HandleFunc("GET /2020-01-01/extension/event/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(mux)
	p.address = strings.TrimPrefix(server.URL, "http://")
	t.Cleanup(func() {
		close(over)
		server.Close()
	})
	return p
}

// function starts one. What it prints is read, and its end waited for.
func (p *platform) function(be string) (*exec.Cmd, io.Reader) {
	p.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "BE_FUNCTION="+be, Variable+"="+p.address)
	out, err := c.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c, out
}

func (p *platform) answer() string {
	p.Helper()
	select {
	case a := <-p.answers:
		return a
	case <-time.After(30 * time.Second):
		p.Fatal("no answer")
		return ""
	}
}

func TestInvocationsHaveTheirDeadlines(t *testing.T) {
	p := newPlatform(t)
	p.function("deadline")
	for i, after := range []time.Duration{time.Hour, time.Minute} {
		deadline := time.Now().Add(after)
		p.invocations <- deadline
		if got, want := p.answer(), fmt.Sprintf("request-%d/response %d", i+1, deadline.UnixMilli()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := <-p.extensions; got == "" { // without one the platform sends no TERM
		t.Error("no extension was registered")
	}
}

func TestFailures(t *testing.T) {
	p := newPlatform(t)
	p.function("plain")
	for i := range 2 { // the same process goes on
		p.invocations <- time.Now().Add(time.Hour)
		if got, want := p.answer(), fmt.Sprintf(`request-%d/error {"errorMessage":"plain","errorType":"Ebb.Error"}`, i+1); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	p = newPlatform(t)
	c, _ := p.function("unfit")
	p.invocations <- time.Now().Add(time.Hour)
	if got, want := p.answer(), `request-1/error {"errorMessage":"one handler is left","errorType":"Ebb.Exit5"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	late := time.AfterFunc(20*time.Second, func() { c.Process.Kill() })
	defer late.Stop()
	if c.Wait(); c.ProcessState.ExitCode() != 1 {
		t.Errorf("a process that is unfit went on, or ended with %v", c.ProcessState)
	}
}

func TestSignal(t *testing.T) {
	p := newPlatform(t)
	c, _ := p.function("deadline")
	p.invocations <- time.Now().Add(time.Hour)
	p.answer()
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("between invocations: %v", err)
	}

	p = newPlatform(t)
	c, out := p.function("wait")
	p.invocations <- time.Now().Add(time.Hour)
	out.Read(make([]byte, 7)) // it is at work
	c.Process.Signal(syscall.SIGTERM)
	if got, want := p.answer(), `request-1/response "stopped by terminated"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("during an invocation: %v", err)
	}
}

// Where the platform has several invocations in one process, one run follows the other, and none waits beyond its time.
func TestTurns(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := &turns{ctx: t.Context(), turn: make(chan struct{}, 1), run: func(ctx context.Context) ([]byte, error) {
		started <- struct{}{}
		<-release
		return []byte(`{}`), ctx.Err()
	}}
	ends := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.invoke(t.Context())
			ends <- err
		}()
	}
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.invoke(ctx); err == nil || !strings.Contains(err.Error(), "Ebb.Busy") {
		t.Errorf("an invocation whose time is over: %v", err)
	}
	select {
	case <-started:
		t.Error("two runs at once")
	default:
	}
	release <- struct{}{}
	<-started
	release <- struct{}{}
	for range 2 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}
