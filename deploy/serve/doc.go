// Package serve has ebb stay: where there is no scheduler, and for jobs that are born in an app, which can wake the worker
// as soon as it has committed. It knows nothing of queues and databases; a run is a function that it is given.
//
//	schedule ──tick──▶ ┌────────────────┐
//	                   │ one run at once│──▶ summary ──▶ everyone who called before it began
//	POST /run ──call─▶ └────────────────┘
//	                     ▲ at most one more waits for its turn
//
// A call is answered with the summary of a run that began after it. The run in progress may have looked before the
// caller committed, so a call that comes meanwhile has one more run follow, and all such calls share that one. A tick of
// the schedule that finds a run in progress, or one waiting, is skipped. Between runs nothing is done.
//
// # What is answered
//
//	POST /run     200 with the summary (JSON) of a run whose exit status would be 0
//	              500 with the summary of any other; the header Ebb-Exit-Status has the status of both
//	              401 without the right bearer token, 403 where none is configured
//	              413 for a body of more than 64 KiB; what is in a body does not matter
//	              503 while ebb stops, or while the token's file cannot be read
//	GET /healthz  200 {"state":"idle"} or {"state":"running"}, 503 {"state":"stopping"}; no database is asked
//
// A run that left a handler behind, which did not return when it was told to, is the last one: the service stops, for
// nothing but the process's end ends that handler.
//
// A caller who goes away ends no run. Every other path is a 404, every other method a 405.
//
// # Strangers
//
// Whoever reaches the port must not harm a run. At most 256 connections are taken at once, and no more than leave the files
// that a run needs under the limit of open files. At that bound the one that is idle for longest is closed, and others wait
// only while all have a request. One that sends nothing is closed after ten seconds in any case, one that sends nothing
// more after a minute. What strangers cause is logged once, and from then on counted: a line a minute.
//
// # A function
//
// With [Service.Function] a run is what the answer to a request is, as on Cloud Run: a POST to any path is a call, and a
// token is asked for only where one is configured. A run that nobody waits for any more is stopped as by a signal, for
// such a platform takes the processor away when no request is open.
package serve
