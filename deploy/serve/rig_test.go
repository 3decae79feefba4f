package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A wire is a listener whose connections are pipes, so that a whole service runs by a test's clock.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error   { w.once.Do(func() { close(w.closed) }); return nil }
func (w *wire) Addr() net.Addr { return &net.TCPAddr{} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.conns <- theirs:
		return ours, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const token = "0123456789abcdef0123456789abcdef"

// A rig is a service under test, with a client. Its runs take a minute and end at once when they are stopped; their
// summary says how they ended.
type rig struct {
	*testing.T
	Service
	*wire
	client  *http.Client
	runs    atomic.Int32
	failing atomic.Bool
	signal  context.CancelFunc
	stopped chan Result
	log     logged
}

// A logged is a log that is read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newRig starts a service. The function may change what it is like.
func newRig(t *testing.T, change func(*Service)) *rig {
	r := &rig{T: t, wire: newWire(), stopped: make(chan Result, 1)}
	r.Service = Service{
		Token: func() (string, error) { return token, nil },
		Log:   slog.New(slog.NewTextHandler(&r.log, nil)),
		Run: func(ctx context.Context) Result {
			r.runs.Add(1)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return Result{Looked: true, Summary: []byte("{\"stopped\":\"signal\"}\n")}
			}
			if r.failing.Load() {
				return Result{Status: 1, Summary: []byte("{\"stopped\":\"error\"}\n")}
			}
			return Result{Looked: true, Summary: []byte("{\"stopped\":\"empty\"}\n")}
		},
	}
	if change != nil {
		change(&r.Service)
	}
	transport := &http.Transport{DialContext: r.dial}
	r.client = &http.Client{Transport: transport}
	ctx, signal := context.WithCancel(context.Background())
	r.signal = signal
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stopped, err := r.Serve(ctx, r.wire)
		if err != nil {
			t.Error(err)
		}
		r.stopped <- stopped
	}()
	t.Cleanup(func() {
		signal()
		transport.CloseIdleConnections()
		<-ended
	})
	return r
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request, with the right token unless headers say otherwise (name, value, ...).
func (r *rig) ask(method, path string, body io.Reader, headers ...string) answer {
	r.Helper()
	req, err := http.NewRequest(method, "http://ebb"+path, body)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// asked is ask in the background.
func (r *rig) asked(method, path string, headers ...string) <-chan answer {
	got := make(chan answer, 1)
	go func() { got <- r.ask(method, path, nil, headers...) }()
	return got
}

func (r *rig) want(got answer, status int, body string) {
	r.Helper()
	if got.status != status || !strings.Contains(got.body, body) {
		r.Errorf("answered %d %s, want %d %s", got.status, got.body, status, body)
	}
}
