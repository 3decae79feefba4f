-- Takes back leases that ran out: queued again, or failed when the attempts are spent. The first wake that a job with
-- a single attempt was lost in gives that attempt back, since it may never have started.
--
-- in:    @most; @only: null, or the ids that may be reaped; @skip: ids that are left out
-- out:   id, queue, attempts, status, last_error of each row
-- locks: the rows, in id order; what is locked is skipped: its owner may be settling it right now
-- index: ebb_jobs_running
-- why:   the lease is checked again where the row is locked. A row that was completed, claimed or extended between the
--        choice and the lock no longer matches and stays as it is. A lease longer than any that ebb gives, infinity
--        included, is a hand's work, and would be there for ever.
with expired as materialized (
    select id
    from {schema}.jobs
    where status = 'running' and (locked_until is null or locked_until <= pg_catalog.now() or locked_until > pg_catalog.now() + interval '31 days')
      and (@only::bigint[] is null or id = any (@only)) and id <> all (@skip::bigint[])
    order by id
    limit @most
    for no key update skip locked
)
update {schema}.jobs j
set status = case when j.attempts >= j.max_attempts and not (j.max_attempts = 1 and j.lost = 0)
                  then 'failed' else 'queued' end,
    finished_at = case when j.attempts >= j.max_attempts and not (j.max_attempts = 1 and j.lost = 0)
                       then pg_catalog.now() end,
    attempts = case when j.max_attempts = 1 and j.lost = 0 then 0 else j.attempts end,
    lost = least(j.lost, 2147483646) + 1,
    locked_until = null,
    last_error = pg_catalog.format('attempt %s of %s, %s, run %s: the lease ran out: the worker was lost',
                        j.attempts, j.max_attempts,
                        pg_catalog.to_char(pg_catalog.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                        coalesce(pg_catalog.left(j.locked_by, 64), 'unknown'))
from expired e
where j.id = e.id
returning j.id, j.queue, j.attempts, j.status, j.last_error
