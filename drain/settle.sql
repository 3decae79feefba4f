-- Writes what became of jobs in flight: completed, retried, failed or released.
--
-- in:    @run, and for each job, in id order: @ids, @attempts (the fence), @statuses, @given_back (attempts), @lost
--        (to add), @delays (microseconds until it is due again; null: run_at stays), @texts (last_error; null: stays)
-- out:   id of each row that was chosen, and whether it was changed, for a trigger may suppress that. A row that no longer
--        runs under this run and attempt is left alone; lookup.sql tells how those stand that are missing
-- locks: the rows, in id order; what is locked is skipped, so that no settle waits behind a hand at a psql prompt
-- index: jobs_pkey, or ebb_jobs_running
-- why:   "= any" makes the plan look each id up. The join alone may be one with all of ebb_jobs_running, which is short but
--        for the entries of what was settled while somebody held an old snapshot. "in" is a look into a hash table; a join
--        of what was chosen with what was changed may compare each with each, since no estimate knows how many they are.
with mine as materialized (
    select s.*
    from rows from (pg_catalog.unnest(@ids::bigint[]), pg_catalog.unnest(@attempts::int[]), pg_catalog.unnest(@statuses::text[]),
                    pg_catalog.unnest(@given_back::int[]), pg_catalog.unnest(@lost::int[]), pg_catalog.unnest(@delays::bigint[]),
                    pg_catalog.unnest(@texts::text[])) as s (id, attempt, status, given_back, lost, delay, text)
    join {schema}.jobs j
      on j.id = s.id and j.status = 'running' and j.attempts = s.attempt and j.locked_by = @run::text
    where j.id = any (@ids::bigint[])
    order by j.id
    for no key update of j skip locked
),
settled as (
    update {schema}.jobs j
    set status = s.status,
        attempts = j.attempts - s.given_back,
        lost = least(j.lost, 2147483647 - s.lost) + s.lost,
        run_at = case when s.delay is null then j.run_at
                      else pg_catalog.now() + s.delay::float8 * interval '1 microsecond' end,
        locked_until = null,
        finished_at = case when s.status <> 'queued' then pg_catalog.now() end,
        last_error = case when s.text is null then j.last_error else {head} || s.text end
    from mine s
    where j.id = s.id
    returning j.id
)
select m.id, m.id in (select s.id from settled s)
from mine m
