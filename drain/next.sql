-- How long until the next job falls due, for a run that may linger for it.
--
-- in:    @queues that are drained here
-- out:   microseconds until the first of them falls due; null where none does within a year
-- locks: none
-- index: ebb_jobs_due
select pg_catalog.ceil(extract(epoch from pg_catalog.min(j.run_at) - pg_catalog.now()) * 1e6)::bigint
from pg_catalog.unnest(@queues::text[]) as q (queue)
cross join lateral (
    select d.run_at
    from {schema}.jobs d
    where d.status = 'queued' and d.queue = q.queue and d.run_at > pg_catalog.now() and d.run_at < pg_catalog.now() + interval '1 year'
    order by d.run_at
    limit 1
) j
