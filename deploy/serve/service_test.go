package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	schedules "github.com/seed829e008e/ebb/schedule"
)

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		began := time.Now()
		got := r.ask("POST", "/run", strings.NewReader(`{"what":"ever"}`))
		r.want(got, 200, `{"stopped":"empty"}`)
		if time.Since(began) != time.Minute || got.header.Get("Ebb-Exit-Status") != "0" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("after %v: %v", time.Since(began), got.header)
		}
		r.failing.Store(true)
		got = r.ask("POST", "/run", nil)
		r.want(got, 500, `{"stopped":"error"}`)
		if got.header.Get("Ebb-Exit-Status") != "1" {
			t.Error(got.header)
		}
		// A run that failed ends nothing.
		r.failing.Store(false)
		r.want(r.ask("POST", "/run", nil), 200, "empty")
		if r.runs.Load() != 3 {
			t.Errorf("%d runs", r.runs.Load())
		}
	})
}

// A zone whose clocks go back over a midnight has no run begin again and again.
func TestScheduleOverChangesOfClocks(t *testing.T) {
	line, err := schedules.Parse("CRON_TZ=America/St_Johns 1 0 * 10 *")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) { s.Next = line.Next })
		end := time.Date(2006, 11, 1, 12, 0, 0, 0, time.UTC)
		want := len(line.Between(time.Now(), end))
		time.Sleep(time.Until(end))
		if got := int(r.runs.Load()); got != want || got < 7*31 {
			t.Errorf("%d runs in seven Octobers, want %d", got, want)
		}
	})
}

func TestRefusedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text string
		var failure error
		r := newRig(t, func(s *Service) { s.Token = func() (string, error) { return text, failure } })
		text = token
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer " + token[1:], "Bearer " + token + "x", "Basic " + token, token, "Bearer " + strings.ToUpper(token)} {
			got := r.ask("POST", "/run", nil, "Authorization", header)
			r.want(got, 401, "Authorization: Bearer")
			if got.header.Get("WWW-Authenticate") != `Bearer realm="ebb"` {
				t.Errorf("%q: %v", header, got.header)
			}
		}
		r.want(r.ask("POST", "/run", nil, "Authorization", "bearer  "+token), 200, "empty")

		text = "another-token-that-took-its-place" // the token is asked for anew
		r.want(r.ask("POST", "/run", nil), 401, "")
		r.want(r.ask("POST", "/run", nil, "Authorization", "Bearer "+text), 200, "empty")
		text = "" // nothing is as good as no token
		r.want(r.ask("POST", "/run", nil, "Authorization", "Bearer "), 401, "")
		failure = errors.New("EBB_TOKEN_FILE: it is gone")
		r.want(r.ask("POST", "/run", nil), 503, "see its log")
		if !strings.Contains(r.log.String(), "it is gone") || strings.Contains(r.log.String(), token) {
			t.Errorf("the log: %s", &r.log)
		}
		if r.runs.Load() != 2 {
			t.Errorf("%d runs", r.runs.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) { s.Token = nil })
		r.want(r.ask("POST", "/run", nil), 403, "set its EBB_TOKEN or EBB_TOKEN_FILE")
		r.want(r.ask("GET", "/run", nil), 405, "")
		if r.runs.Load() != 0 {
			t.Errorf("%d runs", r.runs.Load())
		}
	})
}

func TestOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		for _, test := range []struct {
			method, path string
			status       int
			allow        string
		}{
			{"GET", "/run", 405, "POST"}, {"HEAD", "/run", 405, "POST"}, {"PUT", "/run", 405, "POST"}, {"OPTIONS", "/run", 405, "POST"},
			{"POST", "/healthz", 405, "GET, HEAD"}, {"DELETE", "/healthz", 405, "GET, HEAD"},
			{"POST", "/", 404, ""}, {"GET", "/", 404, ""}, {"POST", "/run/", 404, ""}, {"POST", "//run", 404, ""}, {"POST", "/runs", 404, ""},
		} {
			got := r.ask(test.method, test.path, nil)
			if got.status != test.status || got.header.Get("Allow") != test.allow {
				t.Errorf("%s %s: %d, Allow: %q", test.method, test.path, got.status, got.header.Get("Allow"))
			}
		}
		if r.runs.Load() != 0 {
			t.Errorf("%d runs", r.runs.Load())
		}
	})
}

// What a body says does not matter. It cannot be endless, and neither can its coming; and the time that it has does not
// end a run that takes longer.
func TestBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.want(r.ask("POST", "/run", strings.NewReader(strings.Repeat("x", mostBody))), 200, "empty")
		r.want(r.ask("POST", "/run", strings.NewReader(strings.Repeat("x", mostBody+1))), 413, "too large")
		r.want(r.ask("POST", "/run", strings.NewReader("x"), "Large", strings.Repeat("x", 2*mostHeader)), 431, "")

		slow, theirs := io.Pipe() // never written to
		began := time.Now()
		r.want(r.ask("POST", "/run", slow), 400, "cannot be read")
		if took := time.Since(began); took != headerTime {
			t.Errorf("a body that never comes takes %v", took)
		}
		theirs.Close()
		if r.runs.Load() != 1 {
			t.Errorf("%d runs", r.runs.Load())
		}
	})
}

// A connection that says nothing, or never comes to the end of its header, is closed.
func TestSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		for _, said := range []string{"", "POST /run HTTP/1.1\r\nHost: ebb\r\n"} {
			conn, err := r.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			io.WriteString(conn, said)
			io.Copy(io.Discard, conn)
			if took := time.Since(began); took != headerTime {
				t.Errorf("%q: open for %v", said, took)
			}
			conn.Close()
		}
	})
}

// Nor does a caller who does not take his answer hold anything for long.
func TestAnswerThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		conn := send(t, r, "POST /run HTTP/1.1\r\nHost: ebb\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		time.Sleep(time.Minute + answerTime + time.Second)
		if text, err := io.ReadAll(conn); len(text) > 0 || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestCallerWhoGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		conn := send(t, r, "POST /run HTTP/1.1\r\nHost: ebb\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		conn.Close()
		synctest.Wait()
		if r.want(r.ask("GET", "/healthz", nil), 200, `"running"`); r.runs.Load() != 1 {
			t.Errorf("%d runs", r.runs.Load())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		r.want(r.ask("GET", "/healthz", nil), 200, `"idle"`)
	})
}

// send sends bytes and waits until nothing more comes of them.
func send(t *testing.T, r *rig, request string) net.Conn {
	t.Helper()
	conn, err := r.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, request)
	synctest.Wait()
	return conn
}

// every is a schedule that fires at whole multiples of a duration.
func every(d time.Duration) func(time.Time) (time.Time, bool) {
	return func(after time.Time) (time.Time, bool) { return after.Truncate(d).Add(d), true }
}

func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) { s.Next = every(5 * time.Minute) })
		time.Sleep(time.Hour + 2*time.Minute)
		if r.runs.Load() != 12 {
			t.Errorf("%d runs in an hour", r.runs.Load())
		}
		r.failing.Store(true) // a run that fails does not end the schedule
		time.Sleep(time.Hour)
		if r.runs.Load() != 24 || strings.Contains(r.log.String(), "skipped") {
			t.Errorf("%d runs in two hours: %s", r.runs.Load(), &r.log)
		}
	})
	// A run takes a minute: every second tick of half a minute or so comes too early, and none is made up for.
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) { s.Next = every(40 * time.Second) })
		time.Sleep(time.Hour)
		synctest.Wait()
		if skipped := strings.Count(r.log.String(), "skipped"); r.runs.Load() != 45 || skipped != 45 {
			t.Errorf("%d runs, %d skipped", r.runs.Load(), skipped)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) { s.Next = func(time.Time) (time.Time, bool) { return time.Time{}, false } })
		time.Sleep(1000 * time.Hour)
		if r.runs.Load() != 0 {
			t.Errorf("%d runs by a schedule that never fires", r.runs.Load())
		}
	})
}

// At the signal nothing is taken any more, the run in progress is stopped and its callers get its summary, those who
// wait for another are refused, and all of it does not wait for whoever does not take his answer.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		first := r.asked("POST", "/run")
		synctest.Wait()
		waits := []<-chan answer{r.asked("POST", "/run"), r.asked("POST", "/run")}
		synctest.Wait()
		began := time.Now()
		r.signal()
		r.want(<-first, 200, `{"stopped":"signal"}`)
		for _, got := range waits {
			r.want(<-got, 503, "call again")
		}
		if stopped := <-r.stopped; string(stopped.Summary) != "{\"stopped\":\"signal\"}\n" || r.runs.Load() != 1 {
			t.Errorf("%d runs, the last %+v", r.runs.Load(), stopped)
		}
		if _, err := r.dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.want(r.ask("GET", "/healthz", nil), 200, "idle")
		conn := send(t, r, "GET /healthz HTTP/1.1\r\n") // it never comes to an end
		began := time.Now()
		r.signal()
		if stopped := <-r.stopped; stopped.Summary != nil || time.Since(began) > leaveTime {
			t.Errorf("after %v: %+v", time.Since(began), stopped)
		}
		conn.Close()
	})
	// A run that was stopped before it looked has not seen what its caller committed.
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) {
			s.Run = func(ctx context.Context) Result {
				<-ctx.Done()
				return Result{Summary: []byte("{\"due_left\":null}\n")}
			}
		})
		first := r.asked("POST", "/run")
		synctest.Wait()
		r.signal()
		r.want(<-first, 503, `{"due_left":null}`)
		<-r.stopped
	})
	// A run takes its grace. The listener is closed at once, and whoever asks on an open connection hears what happens.
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) {
			s.Run = func(ctx context.Context) Result {
				<-ctx.Done()
				time.Sleep(20 * time.Second)
				return Result{Status: 5}
			}
		})
		first := r.asked("POST", "/run")
		synctest.Wait()
		conn := send(t, r, "GET /healthz HTTP/1.1\r\nHost: ebb\r\n") // up to its last line
		r.signal()
		time.Sleep(3 * time.Second)
		if _, err := r.dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener is open: %v", err)
		}
		io.WriteString(conn, "\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != 503 {
			t.Errorf("health: %v, %v", resp, err)
		}
		conn.Close()
		r.want(<-first, 500, "")
		if stopped := <-r.stopped; stopped.Status != 5 {
			t.Errorf("%+v", stopped)
		}
	})
}

// What a run left behind in the process ends with the process: no other run begins in it.
func TestUnfit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) {
			s.Run = func(context.Context) Result {
				time.Sleep(time.Minute)
				return Result{Status: 5, Summary: []byte("{}"), Unfit: true}
			}
		})
		first := r.asked("POST", "/run")
		synctest.Wait()
		waits := r.asked("POST", "/run")
		r.want(<-first, 500, "{}")
		r.want(<-waits, 503, "call again")
		if last := <-r.stopped; last.Status != 5 {
			t.Errorf("%+v", last)
		}
	})
}

// The listener breaks: that is an error, and ends the run as a signal does.
func TestBrokenListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		s := Service{Log: newRig(t, nil).Log, Next: every(time.Minute), Run: func(ctx context.Context) Result {
			<-ctx.Done()
			ended = true
			return Result{}
		}}
		w := newWire()
		time.AfterFunc(90*time.Second, func() { w.Close() })
		if _, err := s.Serve(t.Context(), w); !errors.Is(err, net.ErrClosed) || !ended {
			t.Errorf("%v, the run ended: %v", err, ended)
		}
	})
}

func TestFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *Service) { s.Function, s.Token = true, nil })
		for i, path := range []string{"/", "/run", "/any/path?x=y", "//"} {
			if r.want(r.ask("POST", path, nil, "Authorization", ""), 200, "empty"); int(r.runs.Load()) != i+1 {
				t.Errorf("%s: %d runs", path, r.runs.Load())
			}
		}
		for _, path := range []string{"/", "/run", "/_ah/warmup"} {
			r.want(r.ask("GET", path, nil), 405, "POST starts a run")
		}
		r.want(r.ask("GET", "/healthz", nil), 200, "idle")
		// Who comes twice at once gets two runs, one after the other, the third shares the second.
		var got []<-chan answer
		for range 3 {
			got = append(got, r.asked("POST", "/"))
			synctest.Wait()
		}
		for _, got := range got {
			r.want(<-got, 200, "empty")
		}
		if r.runs.Load() != 6 {
			t.Errorf("%d runs", r.runs.Load())
		}
		// A run does not outlive its request.
		conn := send(t, r, "POST / HTTP/1.1\r\nHost: ebb\r\nContent-Length: 2\r\n\r\n{}")
		r.want(r.ask("GET", "/healthz", nil), 200, "running")
		conn.Close()
		synctest.Wait()
		r.want(r.ask("GET", "/healthz", nil), 200, "idle")
		if r.runs.Load() != 7 {
			t.Errorf("%d runs", r.runs.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) { // a token that is there is asked for
		r := newRig(t, func(s *Service) { s.Function = true })
		r.want(r.ask("POST", "/", nil, "Authorization", ""), 401, "")
		r.want(r.ask("POST", "/", nil), 200, "empty")
	})
}
