-- Takes back leases that ran out: queued again, or failed when the attempts are spent. The first wake that a job with
-- a single attempt was lost in gives that attempt back, since it may never have started.
--
-- in:    @run, which is named in last_error for recount.sql; @most; @only: null, or the ids that may be reaped; @skip: ids that are left out
-- out:   id of each row that was chosen, its queue, status and last_error; the status is null where a trigger suppressed
--        the change
-- locks: the rows, in id order; what is locked is skipped: its owner may be settling it right now
-- index: ebb_jobs_running
-- why:   the lease is checked again where the row is locked. A row that was completed, claimed or extended between the
--        choice and the lock no longer matches and stays as it is.
with expired as materialized (
    select id
    from {schema}.jobs
    where status = 'running' and {expired}
      and (@only::bigint[] is null or id = any (@only)) and id <> all (@skip::bigint[])
    order by id
    limit @most
    for no key update skip locked
),
reaped as (
    update {schema}.jobs j
    set status = case when j.attempts >= j.max_attempts and not (j.max_attempts = 1 and j.lost = 0)
                      then 'failed' else 'queued' end,
        finished_at = case when j.attempts >= j.max_attempts and not (j.max_attempts = 1 and j.lost = 0)
                           then pg_catalog.now() end,
        attempts = case when j.max_attempts = 1 and j.lost = 0 then 0 else j.attempts end,
        lost = least(j.lost, 2147483646) + 1,
        locked_until = null,
        last_error = pg_catalog.format('attempt %s of %s, %s, run %s: the lease ran out, taken back by run %s: the worker was lost',
                                       j.attempts, j.max_attempts, {utc},
                                       coalesce(pg_catalog.left(j.locked_by, 64), 'unknown'), @run::text)
    from expired e
    where j.id = e.id
    returning j.id, {queue} as queue, j.status, j.last_error
)
select id, queue, status, last_error
from reaped
union all
select id, '', null, ''
from expired
where id not in (select r.id from reaped r)
