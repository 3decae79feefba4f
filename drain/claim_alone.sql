-- Claims one job that took a process with it before, or may have, and only where nothing else runs under this run: such
-- a job can then spend no attempt but its own.
--
-- in:    @queues in drain order, and for each: @leases (microseconds); @bytes of payload that come with the claim; @run;
--        @skip: ids not to be claimed; @only: null, or the ids that may be
-- out:   the job, as claim.sql gives it, or no row
-- locks: the row, and one such row of every other queue, FOR NO KEY UPDATE; what is locked is skipped
-- index: ebb_jobs_due; ebb_jobs_running, from its end: what the same exchange has claimed is there, after the entries of
--        what was settled while somebody held an old snapshot
with asked as (
    select a.*
    from rows from (pg_catalog.unnest(@queues::text[]), pg_catalog.unnest(@leases::bigint[])) with ordinality as a (queue, lease, place)
    where not exists (
        select from (select from {schema}.jobs where status = 'running' and locked_by = @run::text order by id desc limit 1) r
    )
),
due as materialized (
    select j.id, a.lease
    from asked a
    cross join lateral (
        select d.id
        from {schema}.jobs d
        where d.status = 'queued' and d.queue = a.queue and d.run_at <= pg_catalog.now() and d.id <> all (@skip::bigint[])
          and (@only::bigint[] is null or d.id = any (@only))
          and d.attempts < d.max_attempts and {alone}
        order by d.run_at, d.id
        limit 1
        for no key update skip locked
    ) j
    limit 1
),
claimed as (
    update {schema}.jobs j
    set status = 'running', attempts = j.attempts + 1,
        locked_until = pg_catalog.now() + d.lease::float8 * interval '1 microsecond', locked_by = @run::text,
        started_at = pg_catalog.now()
    from due d
    where j.id = d.id
    returning j.id, j.queue, case when {size} <= @bytes::bigint then j.payload::text end as payload, j.run_at, j.attempts,
              j.max_attempts, j.lost, {last_error} as last_error, j.status
)
select d.id, c.queue, c.payload, c.run_at, c.attempts, c.max_attempts, c.lost, c.last_error, c.status
from due d
left join claimed c on c.id = d.id
