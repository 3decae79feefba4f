package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestConnections(t *testing.T) {
	for _, test := range []struct {
		limit    uint64
		runFiles int
		want     int
	}{{1024, 160, 256}, {512, 160, 256}, {400, 160, 176}, {256, 160, 32}, {64, 160, 4}, {0, 0, 4}, {1024, 100000, 4}, {1 << 63, 160, 256}, {1<<64 - 1, 0, 256}} {
		if got := connections(test.limit, test.runFiles); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// crowd opens connections that send a text.
func (r *rig) crowd(n int, text string) (all []net.Conn) {
	r.Helper()
	for range n {
		c, err := r.dial(r.Context(), "", "")
		if err != nil {
			r.Fatal(err)
		}
		io.WriteString(c, text)
		all = append(all, c)
	}
	return all
}

// closed says how many were closed by the other side.
func closed(all []net.Conn) (n int) {
	for _, c := range all {
		c.SetReadDeadline(time.Now().Add(time.Nanosecond))
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			n++
		}
	}
	return n
}

// Whoever says nothing makes room for others, the oldest first.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		began := time.Now()
		idle := r.crowd(mostConnections+50, "")
		synctest.Wait()
		if first, rest := closed(idle[:51]), closed(idle[51:]); first != 51 || rest != 0 || time.Since(began) > 2*patience {
			t.Errorf("after %v %d of the first 51 are closed, and %d of the others", time.Since(began), first, rest)
		}
		r.want(r.ask("GET", "/healthz", nil), 200, "idle")
		r.want(r.ask("POST", "/run", nil), 200, "empty")
		if waited := time.Since(began) - time.Minute; waited > 3*patience {
			t.Errorf("callers waited for %v", waited)
		}
		if n := closed(idle); n != len(idle) {
			t.Errorf("after a minute %d of %d are closed", n, len(idle))
		}
	})
}

// One that has asked before, and asks no more, makes room as well.
func TestConnectionsThatAreKeptMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		for _, c := range r.crowd(mostConnections, "GET /healthz HTTP/1.1\r\nHost: ebb\r\n\r\n") {
			c.Read(make([]byte, 4096))
		}
		began := time.Now()
		r.want(r.ask("GET", "/healthz", nil), 200, "idle")
		if time.Since(began) > 2*patience {
			t.Errorf("health took %v", time.Since(began))
		}
	})
}

// Those that wait for a run keep their connections, and the others wait for them.
func TestBusyConnectionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		call := "POST /run HTTP/1.1\r\nHost: ebb\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 0\r\n\r\n"
		busy := r.crowd(mostConnections, call)
		late := r.asked("POST", "/run")
		time.Sleep(2 * patience)
		var answers sync.WaitGroup
		for _, c := range busy {
			answers.Go(func() {
				if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "200") {
					t.Errorf("answered %q", line)
				}
				c.Close()
			})
		}
		answers.Wait()
		r.want(<-late, 200, "empty")
		if !strings.Contains(r.log.String(), "others wait") {
			t.Errorf("the log does not say that others wait: %s", &r.log)
		}
	})
}

// What strangers cause is a line at first, and a line a minute from then on, with what has come since.
func TestRefusedCallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		refused := func(n int) {
			for range n {
				r.want(r.ask("POST", "/run", nil, "Authorization", "Bearer wrong"), 401, "")
			}
		}
		said := func() string {
			var all []string
			for line := range strings.Lines(r.log.String()) {
				if strings.Contains(line, "without the right token") {
					_, times, _ := strings.Cut(line, "times=")
					times, _, _ = strings.Cut(times, " ")
					all = append(all, times)
				}
			}
			return fmt.Sprintf("%q", all)
		}
		want := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := said(); got != want {
				t.Errorf("logged %s, want %s", got, want)
			}
		}
		refused(1000)
		want(`[""]`)
		time.Sleep(tallyTime)
		want(`["" "999"]`)
		refused(5)
		time.Sleep(tallyTime)
		want(`["" "999" "5"]`)
		time.Sleep(3 * tallyTime) // a quiet time
		refused(3)
		want(`["" "999" "5" ""]`)
		r.signal()
		<-r.stopped
		r.stopped <- Result{}
		want(`["" "999" "5" "" "2"]`)
	})
}
