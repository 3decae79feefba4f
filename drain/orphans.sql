-- Gives back what runs under this run's id without being in flight: claims whose answer was lost on the way, so that none
-- of them was started. The attempt is given back.
--
-- in:    @run, @in_flight: ids of all that this run holds, abandoned ones included; @only: null, or the ids to give back
-- out:   id of each row that was chosen, and whether it was changed, for a trigger may suppress that
-- locks: the rows, in id order; what is locked is skipped
-- index: ebb_jobs_running
with orphan as materialized (
    select id
    from {schema}.jobs
    where status = 'running' and locked_by = @run::text and id <> all (@in_flight::bigint[])
      and (@only::bigint[] is null or id = any (@only))
    order by id
    for no key update skip locked
),
released as (
    update {schema}.jobs j
    set status = 'queued', attempts = j.attempts - 1, locked_until = null
    from orphan o
    where j.id = o.id
    returning j.id
)
select o.id, o.id in (select r.id from released r)
from orphan o
