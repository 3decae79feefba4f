-- Gives back what runs under this run's id without being in hand: claims whose answer was lost on the way, so that none
-- of them was started. The attempt is given back.
--
-- in:    @run, @in_hand: ids that this run holds, abandoned ones included
-- out:   id of each row
-- locks: the rows, in id order; what is locked is skipped
-- index: ebb_jobs_running
with stray as materialized (
    select id
    from {schema}.jobs
    where status = 'running' and locked_by = @run and id <> all (@in_hand::bigint[])
    order by id
    for no key update skip locked
)
update {schema}.jobs j
set status = 'queued', attempts = j.attempts - 1, locked_until = null
from stray s
where j.id = s.id
returning j.id
