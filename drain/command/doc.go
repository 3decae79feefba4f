// Package command runs jobs through commands: a script or a program in any language is the handler of a queue.
//
// # What a command gets
//
// The command line is split by the quoting rules of a POSIX shell and expanded in no way: there is no shell unless it
// names one (sh -c '...'). A name without a slash is looked up on PATH; a path is relative to ebb's working directory,
// which is the command's too.
//
// The job's payload comes on standard input, byte for byte as Postgres prints it, and then the end of file. A command
// that does not care may leave it unread. The rest is in the environment:
//
//	EBB_JOB_ID            the job's id
//	EBB_JOB_QUEUE         its queue
//	EBB_JOB_ATTEMPT       1 the first time
//	EBB_JOB_MAX_ATTEMPTS  how many it may have
//	EBB_JOB_RUN_AT        when it fell due: RFC 3339 in UTC with microseconds, or -infinity
//	EBB_JOB_DEADLINE      when the command will be told to end, in the same form but by this machine's clock; unset
//	                      where nothing limits it
//	EBB_JOB_LAST_ERROR    what became of the attempt before; empty the first time
//	EBB_RUN_ID            the run that claimed the job
//
// Beside these a command sees ebb's own environment, without what leads to ebb's database and without ebb's settings:
// see [Environ]. Names in EBB_PASS_ENV are passed all the same, and whatever a failed command did not get to see is
// named, never shown, at the end of its error. The last error is cut to 8 KiB, whatever the row has.
//
// # What its exit status means
//
//	0              done
//	65             failed for good
//	69             suspend: the job is given back, due one backoff later, and its queue stops for this run
//	75             a failed attempt that the command foresaw, logged as information
//	78, 126, 127   misconfigured, as is a command that cannot be started: the fault is not the job's
//	anything else  a failed attempt, retried by backoff; so is an end by a signal
//
// Where this machine is short of processes, memory or open files and the command cannot be started for that, its job is
// given back as it was and its queue stops for this run ([drain.NotStarted]). A program file that is just being written is
// a failed attempt. The error is the exit status and the end of
// what was written to standard error, about two kilobytes.
//
// # What it prints
//
// Standard output and standard error go to ebb's log line by line, both as information, since programs write more than
// errors to the latter. A line is cut after 4 KiB. Of each of the two the log takes the first thousand lines or 256 KiB
// of one job and counts the rest. [Command.Redact] sees all of it before the log or the error does. A command is never held up by printing more, and no amount of it takes memory.
//
// # When its time is up
//
// A command leads a session and process group of its own, without a terminal. At the queue's timeout, and when the run
// has to stop, SIGTERM goes to the whole group, and SIGKILL five seconds later (sooner where the grace is short) to what
// is left of it. A command may answer SIGTERM with 0, 65, 69 or 75 and is taken at its word. Any other end then is that of
// a command which was told to end; so are 78, 126 and 127, for a shell gives them when what it waits for is killed.
//
// When the command ends by itself, so does its group: what it started and left running has a second to finish printing,
// and is then killed, with a warning. So nothing of a job outlives its attempt, and a retry never meets what an earlier
// attempt left behind. A process that is meant to stay must leave the group (setsid); it keeps nobody waiting, even if it
// holds the command's output open. Whatever it prints later is lost. Where ebb is the first process of a container it
// takes in such processes when they end ([Strays]).
//
// When ebb has to end at once it kills all groups first ([Running]). When ebb itself is killed (SIGKILL, out of memory)
// Linux kills the command as well, though not what the command started; elsewhere the command goes on. A container or a
// systemd unit takes all of it along. Another run takes the job back after its lease, so a command must bear that. A command that ebb has no right to signal, say one behind
// sudo, cannot be ended: after the grace it is abandoned.
//
// Windows has no process groups and no SIGTERM. There the command alone is killed, at once, and what it started stays.
package command
