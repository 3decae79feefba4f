package schedule

import (
	"archive/zip"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A zoneChanges is a zone and all changes of its clocks since 1970, as far as they are known and some years beyond.
type zoneChanges struct {
	name    string
	changes []change
}

// allZones are those of Go's own database. What is there under several names is there once.
var allZones = sync.OnceValues(func() (all []zoneChanges, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	known := map[uint32]bool{}
	for _, f := range archive.File {
		zone, err := time.LoadLocation(f.Name)
		if err != nil || known[f.CRC32] {
			continue
		}
		known[f.CRC32] = true
		s := Schedule{}
		s.spec.Location = zone
		all = append(all, zoneChanges{f.Name, s.changes(time.Unix(0, 0), time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC))})
	}
	return all, nil
})

func everyZone(t testing.TB) []zoneChanges {
	t.Helper()
	all, err := allZones()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 300 {
		t.Fatalf("only %d zones", len(all))
	}
	return all
}

// goesOn looks at what a schedule does from two days before a change of clocks to two days after it: each time is later than
// the one before, and there are no more than minutes.
func (s *Schedule) goesOn(t *testing.T, at int64) {
	t.Helper()
	last, n := at-2*aDay, 0
	for next := range s.fires(last, at+2*aDay) {
		if next <= last {
			t.Fatalf("%s: behind %v comes %v", s, s.at(last), s.at(next))
		}
		if last = next; n > 5*24*60 {
			t.Fatalf("%s: more than a time a minute around %v", s, s.at(at))
		}
		n++
	}
	if next, ok := s.Next(s.at(at - 1)); ok && next.Unix() < at {
		t.Fatalf("%s: behind %v comes %v", s, s.at(at-1), next)
	}
}

// In some zones clocks go back over a midnight, and robfig/cron gives the same time again and again. Every zone's every
// change is gone over with lines that fire about it.
func TestEveryChangeOfClocks(t *testing.T) {
	for _, z := range everyZone(t) {
		for i, c := range z.changes {
			for _, wall := range []int64{c.at + c.before, c.at + c.after, c.at + min(c.before, c.after) + 1800} {
				w := time.Unix(wall, 0).UTC()
				for _, line := range []string{fmt.Sprintf("%d %d * * *", w.Minute(), w.Hour()), fmt.Sprintf("%d %d %d * *", (w.Minute()+1)%60, w.Hour(), w.Day())} {
					if raced && i%10 > 0 {
						continue
					}
					s := parse(t, "CRON_TZ="+z.name+" "+line)
					s.goesOn(t, c.at)
				}
			}
		}
	}
}

// What robfig/cron makes of a minute that clocks go back to the day before from, and then the minute itself.
func TestClocksGoBackOverMidnight(t *testing.T) {
	s := parse(t, "CRON_TZ=America/St_Johns 1 0 * * *")
	s.goesOn(t, at(t, "2006-10-29T02:31:00Z").Unix())
	var got []string
	for _, at := range s.Between(at(t, "2006-10-28T00:00:00Z"), at(t, "2006-10-31T00:00:00Z")) {
		got = append(got, at.Format("02 15:04 MST"))
	}
	if got := strings.Join(got, ", "); got != "28 00:01 NDT, 28 23:01 NST, 29 00:01 NST, 30 00:01 NST" {
		t.Error(got)
	}
}

// The search begins in the middle of a minute, and comes to whole ones of the right hour and day.
func TestNextBehindAMidnightThatComesTwice(t *testing.T) {
	for line, want := range map[string]string{
		"1 0 * * *":    "2006-10-29 00:01:00 NST",
		"1 0,6 * * *":  "2006-10-29 00:01:00 NST",
		"1 0 28 10 *":  "2007-10-28 00:01:00 NDT",
		"1 0 * * 6":    "2006-11-04 00:01:00 NST",
		"1-5 0 * 10 *": "2006-10-29 00:01:00 NST",
	} {
		from := at(t, "2006-10-29T02:33:30Z") // 23:03:30 for the second time
		if next, ok := parse(t, "CRON_TZ=America/St_Johns "+line).Next(from); !ok || next.Format("2006-01-02 15:04:05 MST") != want {
			t.Errorf("%s: %v, want %s", line, next, want)
		}
	}
}

func FuzzChangeOfClocks(f *testing.F) {
	f.Add(uint16(0), uint16(0), "1 0 * * *")
	f.Add(uint16(173), uint16(80), "*/7 23 31 */2 5")
	f.Add(uint16(87), uint16(31), "0 0 1 1 *")
	f.Add(uint16(300), uint16(12), "59 23 29 2 *")
	all := everyZone(f)
	f.Fuzz(func(t *testing.T, zone, number uint16, line string) {
		z := all[int(zone)%len(all)]
		s, err := Parse("CRON_TZ=" + z.name + " " + line)
		if err != nil || len(z.changes) == 0 {
			return
		}
		s.goesOn(t, z.changes[int(number)%len(z.changes)].at)
	})
}
