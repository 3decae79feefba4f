// Package schema is what ebb's tables are: numbered migrations, the version that a database is at, and the rule for the
// name of the schema that holds them.
//
//	jobs          one row a job
//	jobs_runs     one row a run: when, how it ended, its counts
//	jobs_version  one row: the version that these tables are at, and the oldest that programs may be written for that work on them
//
// and one function, enqueue, for producers that want unique keys; a plain INSERT of queue and payload does as well.
//
// A job is in one of four statuses. "Due" is none of them: it is what a queued job is once run_at has passed.
//
//	                       claim: attempts + 1, a lease
//	INSERT ──▶ queued ────────────────────────────────────▶ running
//	             ▲                                             │
//	             ├──── retry: later, the attempt counts ───────┤
//	             ├──── release: the attempt is given back ─────┤
//	             ├──── reap: the lease ran out ────────────────┤
//	             │                                             ├─── complete ──────────────▶ done
//	             │                                             └─── fail, attempts spent ──▶ failed
//	             └──── an operator's retry ◀─────────────────────────────────────────────────┘
//
// A running row belongs to the run in locked_by until locked_until. Who writes it checks id, status, attempts and
// locked_by, so that no one settles what another run has claimed since. locked_by and started_at stay on the row until
// the next claim; a running row whose locked_until is null counts as expired.
//
// [Migrate] brings a database to [Version], whoever else is doing the same at that moment, and keeps no state in the
// session, so that it works through PgBouncer in transaction mode. [SQL] is the same as text, for a DBA to run by hand.
package schema
