//go:build unix

package drain_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed829e008e/ebb/deploy/local"
)

// A storm is a time of trouble for the drainers of one compute. The dice decide what happens when; the hour at which
// something falls is the input, which is why it sleeps.
type storm struct {
	*stormed
	roll    func(n int) int // from 0 to n-1
	effects string          // the file that the handlers write to
	end     time.Time

	mu    sync.Mutex // held while a drainer is started, and while the compute pauses
	afoot map[*exec.Cmd]bool
	n     int
	told  map[string]int // how often what befell them
}

// The storm: several drainers on leases of a second, killed, frozen, stopped, their sessions ended, their connections
// cut and their exchanges held up at random; the server stopped, killed and started again; the compute paused beneath
// them. Whatever happens, what judge asks for is true in the end. It lasts ten seconds with one manner of resuming, or
// what STORM says with each of the four (STORM=3h go test -timeout 4h -run TestStorm ./drain); the seed is printed, and
// STORM_SEED sets it.
func TestStorm(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	fmt.Sscan(os.Getenv("STORM_SEED"), &seed)
	manners := []local.Manner{local.Held, local.Refused, local.Starting, local.Reset}
	lasts, err := time.ParseDuration(os.Getenv("STORM"))
	if err != nil {
		lasts, manners = 10*time.Second, manners[seed%4:][:1]
	}
	t.Logf("a storm of %v, STORM_SEED=%d", lasts, seed)
	for i, manner := range manners {
		t.Run(manner.String(), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, uint64(i)))
			var mu sync.Mutex
			s := &storm{
				stormed: newStormed(t, manner), effects: filepath.Join(t.TempDir(), "effects"),
				end: time.Now().Add(lasts / time.Duration(len(manners))), afoot: map[*exec.Cmd]bool{}, told: map[string]int{},
				roll: func(n int) int {
					mu.Lock()
					defer mu.Unlock()
					return dice.IntN(n)
				},
			}
			s.rage()
			s.calm()
			s.judge(s.effects)
			u := s.compute.Usage()
			t.Logf("%v; %d pauses, %d resumes; %v", s.told, u.Pauses, u.Resumes, s.rows(`select
				(select count(*) from ebb.jobs) as jobs, (select count(*) from ebb.jobs_runs) as runs, (select count(*) from changes) as changes,
				(select count(*) from changes where (is_now).last_error ~ 'the worker was lost') as reaped`))
		})
	}
}

var stormSettings = []string{"EBB_LEASE=1s", "EBB_GRACE=1s", "EBB_JOB_TIMEOUT=2s", "EBB_BACKOFF=1s", "EBB_MAX_BACKOFF=1s",
	"EBB_CONCURRENCY=4", "EBB_MAX_RUNTIME=20s", "EBB_CONNECT_TIMEOUT=5s", "EBB_LINGER=1s"}

// rage lets four drainers run at a time, and trouble befall them, until the storm is over.
func (s *storm) rage() {
	s.enqueue(200)
	door := s.door()
	var drainers sync.WaitGroup
	defer drainers.Wait()
	for range 4 {
		drainers.Go(func() {
			for time.Now().Before(s.end) && !s.Failed() {
				url := s.compute.URL()
				if s.roll(4) > 0 {
					url = door
				}
				s.drain(url)
			}
		})
	}
	for time.Now().Before(s.end) && !s.Failed() {
		time.Sleep(time.Duration(100+s.roll(500)) * time.Millisecond)
		s.enqueue(10)
		switch s.roll(10) {
		case 0, 1, 2:
			s.tell("sessions ended")
			s.rows(`select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^drainer' and datname = current_database()`)
		case 3:
			s.tell("restart, fast")
			s.signal(syscall.SIGINT)
		case 4:
			s.tell("restart, immediate")
			s.signal(syscall.SIGQUIT)
		case 5:
			s.tell("server killed")
			s.signal(syscall.SIGKILL)
		case 6:
			s.tell("backend killed")
			s.crash()
		case 7:
			s.lull()
		}
	}
}

func (s *storm) tell(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[what]++
}

// start starts a drainer, under a name of its own, and gives what tells of its end.
func (s *storm) start(url string) (cmd *exec.Cmd, ended chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	cmd = program(s.T, s.effects, fmt.Sprintf("%s&application_name=drainer%d", url, s.n), stormSettings...)
	s.afoot[cmd] = true
	ended = make(chan struct{})
	go func() {
		cmd.Wait()
		s.mu.Lock()
		delete(s.afoot, cmd)
		s.mu.Unlock()
		close(ended)
	}()
	return cmd, ended
}

// drain is a drainer from its start to its end, and one blow on the way.
func (s *storm) drain(url string) {
	cmd, ended := s.start(url)
	select {
	case <-ended:
		return
	case <-time.After(time.Duration(200+s.roll(1500)) * time.Millisecond):
	}
	switch s.roll(4) {
	case 0:
		s.tell("kill -9")
		cmd.Process.Kill()
	case 1:
		s.tell("SIGTERM")
		cmd.Process.Signal(syscall.SIGTERM)
	case 2:
		s.tell("frozen")
		cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(500+s.roll(2000)) * time.Millisecond) // past the lease, at times
		cmd.Process.Signal(syscall.SIGCONT)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		cmd.Process.Signal(syscall.SIGQUIT)
		<-ended
		log, _ := os.ReadFile(cmd.Stderr.(*os.File).Name())
		s.Errorf("a drainer does not end:\n%s", log)
	}
}

// lull freezes all drainers until the compute has paused beneath them, and thaws them then.
func (s *storm) lull() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cmd := range s.afoot {
		cmd.Process.Signal(syscall.SIGSTOP)
	}
	for deadline := time.Now().Add(5 * time.Second); !s.compute.IsPaused() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if s.compute.IsPaused() { // else some exchange was under way, and has kept it awake
		s.told["paused beneath"]++
	}
	for cmd := range s.afoot {
		cmd.Process.Signal(syscall.SIGCONT)
	}
}

// calm wakes drainers until nothing is left to do. A minute in which nothing changes is too long.
func (s *storm) calm() {
	before, deadline := "", time.Now()
	for {
		left := s.rows(`select count(*), sum(attempts + lost) from ebb.jobs where status in ('queued', 'running') having count(*) > 0`)
		if len(left) == 0 {
			return
		}
		if left[0] != before {
			before, deadline = left[0], time.Now().Add(time.Minute)
		}
		if time.Now().After(deadline) {
			s.Fatalf("left over: %q", s.rows(`select id, status, attempts, lost, locked_until, last_error from ebb.jobs where status in ('queued', 'running') limit 5`))
		}
		_, ended := s.start(s.compute.URL())
		<-ended
	}
}

// door puts a door before the compute that cuts some connections and holds others up, and gives the URL through it.
func (s *storm) door() string {
	r := &rig{T: s.T, url: s.compute.URL()}
	_, url := r.door(func(n int, client net.Conn) bool {
		switch n % 3 {
		case 0: // cut after a while
			time.AfterFunc(time.Duration(s.roll(400))*time.Millisecond, func() { client.Close() })
		case 1:
			server, err := net.Dial("tcp", r.server())
			if err != nil {
				return false
			}
			go func() { io.Copy(client, server); client.Close() }()
			slow(server, client, s.roll)
			return false
		}
		return true
	})
	return url
}

// slow passes bytes on, and now and then only the first part of a chunk at once and the rest much later: an exchange
// that is under way for longer than its leases.
func slow(to, from net.Conn, roll func(int) int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 1 && roll(8) == 0 {
			part := 1 + roll(n-1)
			to.Write(buf[:part])
			time.Sleep(time.Duration(300+roll(2500)) * time.Millisecond) // the delay is the input
			_, err2 := to.Write(buf[part:n])
			err = errors.Join(err, err2)
		} else if n > 0 {
			_, err2 := to.Write(buf[:n])
			err = errors.Join(err, err2)
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}
