package cli

import (
	"errors"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed829e008e/ebb/deploy/local"
	"github.com/seed829e008e/ebb/drain"
)

// The demo takes nothing from the environment, and leaves nothing behind. What it shows is what it says: a database that
// pauses, and one that a worker keeps awake.
func TestDemo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no demo on Windows")
	}
	dir := tempDir(t)
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_NONSENSE": "1"}}.ebb("demo")
	r := got.summary(t)
	if got.status != 0 || r.Stopped != drain.StoppedEmpty || r.Claimed != 27 || r.Done != 24 || r.Retried != 2 || r.Failed != 1 || r.DueLeft != 0 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	if r.Exchanges > 20 { // a wait for the retries that asks again and again
		t.Errorf("%d exchanges", r.Exchanges)
	}
	for _, text := range []string{"ebb wakes, and the database resumes", "ebb ran for", "somebody comes", "nobody needs it: the database pauses"} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("%q is not in it: %s", text, got.stdout)
		}
	}
	drained, polled := awakeShares(t, got.stdout)
	if drained < 10 || drained > 90 || polled < 98 {
		t.Errorf("awake shares of %d %% and %d %%: %s", drained, polled, got.stdout)
	}
	if got.stderr != "" || !strings.Contains(got.stdout, "nothing else is touched\n") { // there is a PostgreSQL here, which needs no download
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
	if strings.ContainsAny(got.stdout, "\x1b\r") {
		t.Errorf("there is no terminal: %q", got.stdout)
	}
	isEmpty(t, dir)
}

// awakeShares reads what the demo says of both databases.
func awakeShares(t *testing.T, stdout string) (drained, polled int) {
	t.Helper()
	found := regexp.MustCompile(`was awake for [0-9.]+ s, ([0-9]+) %`).FindAllStringSubmatch(stdout, -1)
	if len(found) != 2 {
		t.Fatalf("no shares in %s", stdout)
	}
	drained, _ = strconv.Atoi(found[0][1])
	polled, _ = strconv.Atoi(found[1][1])
	return drained, polled
}

func TestDemoInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no demo on Windows")
	}
	dir := tempDir(t)
	s := begin([]string{"PATH=" + os.Getenv("PATH")}, nil, nil, "demo")
	waitFor(t, s, "job 7")
	s.signals <- os.Interrupt
	if got := s.end(t, 30*time.Second); got.status != 130 {
		t.Errorf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	isEmpty(t, dir)

	s = begin(nil, nil, nil, "demo")
	s.signals <- syscall.SIGTERM
	if got := s.end(t, 30*time.Second); got.status != 143 {
		t.Errorf("at once: exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	isEmpty(t, dir)

	// The day may be ended early: what was measured until then is told.
	s = begin([]string{"PATH=" + os.Getenv("PATH")}, nil, nil, "demo")
	waitFor(t, s, "somebody comes")
	s.signals <- os.Interrupt
	got := s.end(t, 30*time.Second)
	if awakeShares(t, got.stdout); got.status != 0 || got.summary(t).Done != 24 {
		t.Errorf("in the day: exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	isEmpty(t, dir)
}

func waitFor(t *testing.T, s session, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.stdout.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not in %s%s", text, s.stdout, s.stderr)
		}
	}
}

// aDemoDay is one of sixty seconds, after thirty of them.
func aDemoDay() (d *demoDay, now time.Time) {
	began := time.Now()
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	d = newDemoDay(demoPace{length: time.Minute, every: 15 * time.Second})
	d.began = began
	d.arrivals = []demoArrival{{at(2), 3}, {at(25), 12}}
	d.runs = []demoSpan{{from: at(5), to: at(5.5)}, {from: at(20), to: at(26)}}
	d.awake = []demoSpan{{from: at(-9), to: at(-2)}, {from: at(2), to: at(7)}, {from: at(20), to: at(22)}, {from: at(25)}}
	d.other = []demoSpan{{from: at(-9)}}
	return d, at(30)
}

func TestDemoPicture(t *testing.T) {
	d, now := aDemoDay()
	for range 30 {
		d.say("somebody %s", strings.Repeat("comes ", 40))
	}
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, style := range []demoStyle{
		{width: 60, utf8: true}, {width: 80}, {width: 80, utf8: true, colour: true}, {width: 120, utf8: true}, {width: 300, utf8: true, colour: true},
	} {
		lines := d.picture(now, style)
		if len(lines) != demoHeight {
			t.Errorf("%d lines, want %d", len(lines), demoHeight)
		}
		for _, line := range lines {
			bare := sgr.ReplaceAllString(line, "")
			if n := utf8.RuneCountInString(bare); n >= style.width {
				t.Errorf("%d columns of %d: %s", n, style.width, bare)
			}
			if bare != line && !style.colour || !style.utf8 && utf8.RuneCountInString(bare) != len(bare) {
				t.Errorf("%+v: %q", style, line)
			}
			if bare != line && !strings.HasSuffix(line, "\x1b[0m") && strings.LastIndex(line, "\x1b[0m") != strings.LastIndex(line, "\x1b[") {
				t.Errorf("the colour does not end: %q", line)
			}
		}
	}
}

func TestDemoPictureRows(t *testing.T) {
	d, now := aDemoDay()
	lines := d.picture(now, demoStyle{width: demoLabel + 60 + demoShare + 1}) // a cell is a second
	for i, want := range []string{
		"                   0 s            15 s           30 s           45 s             awake",
		"  documents come     3                      +",
		"  ebb runs              =              =======",
		"  ebb's database   ..#####.............##...#####                                 40 %",
		"  a polled one     ##############################                                100 %",
	} {
		if lines[i] != want {
			t.Errorf("line %d:\n got %q\nwant %q", i, lines[i], want)
		}
	}
}

// The first thing that goes wrong ends the day and is what is told.
func TestDemoDayFails(t *testing.T) {
	d, _ := aDemoDay()
	d.happened(local.Event{What: local.Paused, Err: errors.New("killed")})
	d.happened(local.Event{What: local.Resuming})
	d.happened(local.Event{What: local.Paused, Err: errors.New("again")})
	if d.err == nil || !strings.Contains(d.err.Error(), "killed") {
		t.Errorf("got %v", d.err)
	}
}

// tempDir is where the demo's server goes, which may run as another user.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ebb-demo-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
