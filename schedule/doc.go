// Package schedule says when runs wake a compute, and what that does to it. All of it is pure: it takes the time, and
// reads no clock, no environment and no database.
//
// A serverless compute pauses when nothing has happened for its idle timeout. That runs are further apart than the
// timeout is necessary and not sufficient: after every run it stays awake for the timeout. With a timeout of five
// minutes and runs of thirty seconds a day of awake (█) and paused (·) time is
//
//	              0       3       6       9       12      15      18      21      24
//	*/6 * * * *   ████████████████████████████████████████████████████████████████   awake 92 %
//	*/30 * * * *  █··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█··█   awake 18 %
//	0 */3 * * *   █·······█·······█·······█·······█·······█·······█·······█·······   awake  3 %
//
// and in one of the pauses, from the run on:
//
//	     resume  run   idle timeout (+ pause latency)
//	    ┌──────┬─────┬──────────────────────────────┐                      ┌──────┬──
//	────┘      │     │                              └──────────────────────┘      │
//	paused      awake                                paused                 awake
//	    ^ a time of the schedule                                           ^ the next one
//
// A run that begins before the pause, or at its very moment, finds the compute awake and prolongs that.
//
//	s, err := schedule.Parse("CRON_TZ=Europe/Berlin */30 6-22 * * *")
//	...
//	all := schedule.Set{s}
//	neon, _ := schedule.Preset("neon")
//	v := all.Verdict(neon, 30*time.Second, now, all.Horizon(now))
//	fmt.Println(v.Share, v.HoursAMonth(), v.LongestPause.Length(), v.Warnings())
//
// # Cron
//
// What [Parse] takes it reads as robfig/cron v3 does, which Kubernetes uses: a day on which the clocks skip a run's time
// has no such run, and where an hour comes twice so do its runs. Other schedulers differ there; [Schedule.Warnings]
// names the runs, and UTC has no such days.
//
// # Zones
//
// Zones are looked up by [time.LoadLocation], in what the system has. This package does not bring them along: a program
// that may run where there are none imports time/tzdata, as ebb's does. Where there is no such zone Parse says so; no
// other one is taken for it.
package schedule
