//go:build unix

package drain_test

import "strings"

// record notes every change of a job, with who wrote it, and when each run was recorded.
const record = `
	create table changes (was ebb.jobs, is_now ebb.jobs, writer text, at timestamptz default now());
	create function note_change() returns trigger language plpgsql as $$begin
		insert into changes values (old, new, current_setting('application_name'));
		return null; end$$;
	create trigger note after update or delete on ebb.jobs for each row execute function note_change();
	create table ends (run text, orderly bool, at timestamptz default clock_timestamp());
	create function note_end() returns trigger language plpgsql as $$begin
		insert into ends values (new.id, new.lost + new.abandoned = 0);
		return null; end$$;
	create trigger note after insert on ebb.jobs_runs for each row execute function note_end()`

// improper are the changes that no rule of the contract allows.
const improper = `
	with owners as (
		select distinct (is_now).locked_by as run, writer as owner from changes where (was).status = 'queued' and (is_now).status = 'running'
	)
	select (was).id, (was).status as was, (is_now).status, (was).attempts, (is_now).attempts as attempts_now, (was).lost, (is_now).lost as lost_now,
		(is_now).last_error, (was).locked_by, writer, owner, changes.at, e.at as ended
	from changes left join owners on run = (was).locked_by left join ends e on e.run = (was).locked_by
	where not coalesce(case
		when (was).status = 'queued' then -- claimed
			(is_now).status = 'running' and (is_now).attempts = (was).attempts + 1 and (was).attempts < (was).max_attempts and (is_now).locked_until > changes.at
			and (was).run_at <= changes.at and (is_now).run_at = (was).run_at and (is_now).lost = (was).lost
		when (was).status <> 'running' then false
		when (is_now).last_error is distinct from (was).last_error and (is_now).last_error ~ 'the worker was lost$' then -- reaped, by anybody
			(was).locked_until <= changes.at and (is_now).lost = (was).lost + 1 and (is_now).attempts = (was).attempts and (is_now).run_at = (was).run_at
			and (is_now).status = case when (was).attempts >= (was).max_attempts then 'failed' else 'queued' end
			and coalesce(not e.orderly or e.at >= changes.at, true) -- whoever ends in order leaves nothing running
		when writer is distinct from owner then false -- by one who does not own the attempt
		when (is_now).status = 'running' then -- extended
			(is_now).attempts = (was).attempts and (is_now).locked_by = (was).locked_by and (is_now).locked_until >= (was).locked_until
		when (is_now).status = 'done' then (is_now).attempts = (was).attempts and (is_now).lost = (was).lost
		when (is_now).last_error is not distinct from (was).last_error then -- released
			(is_now).status = 'queued' and (is_now).attempts = (was).attempts - 1 and (is_now).lost = (was).lost and (is_now).run_at = (was).run_at
		when (is_now).last_error ~ 'interrupted' then
			(is_now).lost = (was).lost + 1 and ((is_now).run_at > (was).run_at or (is_now).status = 'failed')
			and (is_now).attempts = (was).attempts - case when (was).lost < 3 then 1 else 0 end
			and (is_now).status = case when (is_now).attempts >= (was).max_attempts then 'failed' else 'queued' end
		else (is_now).last_error ~ 'as the payload says|timed out' and (is_now).attempts = (was).attempts and (is_now).lost = (was).lost
			and (is_now).status = case when (was).attempts >= (was).max_attempts then 'failed' else 'queued' end
		end, false)`

// claims, releases and settles are lines as the handlers write them (id, attempt, run): of what was claimed; of what was
// given back as never started; and of what was settled by what its handler came to. An exchange whose answer was lost
// may give rows back and claim them again, which is one claim.
const (
	lines = `with all_claims as (
			select (is_now).id || ' ' || (is_now).attempts || ' ' || (is_now).locked_by as line, at from changes
			where (was).status = 'queued' and (is_now).status = 'running'
		), ends as (
			select (was).id || ' ' || (was).attempts || ' ' || (was).locked_by as line, at, (is_now).status,
				(is_now).last_error is not distinct from (was).last_error as silent, (is_now).last_error ~ 'the worker was lost$' as lost
			from changes where (was).status = 'running' and (is_now).status <> 'running'
		), given_back as (select line, at from ends where status = 'queued' and silent) `
	claims   = lines + `select line from all_claims where (line, at) not in (select line, at from given_back)`
	releases = lines + `select line from given_back where (line, at) not in (select line, at from all_claims)`
	settles  = lines + `select line from ends where status = 'done' or not silent and not lost`
)

// judge holds what is left of a storm to the promises: every job is done, or failed with a reason; every effect carries
// a run and an attempt that owned the job, and no attempt was started twice; nothing was settled that was not started,
// or settled twice, and what was released was not started; every change of a row is one that the contract allows,
// written by the owner or by a reaper after the lease; a run that ends in order leaves no job running; and the runs'
// own numbers add up.
func (s *stormed) judge(path string) {
	s.none("not done, and not failed with a reason", `select id, status, last_error from ebb.jobs
		where status <> 'done' and (status <> 'failed' or last_error is null or last_error !~ 'as the payload says|the worker was lost|interrupted')`)
	s.none("attempts out of bounds", `select id, attempts from ebb.jobs where attempts > max_attempts or attempts < 1`)
	s.none("improper", improper)
	s.none("claimed twice", `select line from (`+claims+`) c group by line having count(*) > 1`)
	s.none("settled twice", `select line from (`+settles+`) c group by line having count(*) > 1`)
	s.none("the report's numbers", `select * from ebb.jobs_runs where claimed <> done + retried + failed + released + lost + abandoned`)

	claimed, released, started := s.lines(claims), s.lines(releases), map[string]bool{}
	for _, line := range effects(s.T, path) {
		switch {
		case started[line]:
			s.Errorf("started twice: %s", line)
		case !claimed[line]:
			s.Errorf("started, but never claimed: %s", line)
		case released[line]:
			s.Errorf("started, and released as if it were not: %s", line)
		}
		started[line] = true
	}
	for line := range s.lines(settles) {
		if !started[line] {
			s.Errorf("settled, but never started: %s", line)
		}
	}
	if len(started) == 0 {
		s.Error("nothing was started: that is no test")
	}
}

func (s *stormed) lines(sql string) map[string]bool {
	all := map[string]bool{}
	for _, row := range s.rows(sql) {
		all[strings.Trim(row, `()"`)] = true
	}
	return all
}
