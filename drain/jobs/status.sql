-- What is in the queues, a row each: of those that have been there longest, by their first job.
--
-- in:    @most
-- out:   queue (cut where it is longer than any that ebb enqueues to), due, scheduled, running, expired, done, failed,
--        oldest_due_at as text (RFC 3339 in UTC, with BC after it where that is so; -infinity; null where nothing is due),
--        oldest_due_seconds (null where it is -infinity), how many queues there are
-- locks: none but the reader's
-- index: none: finished jobs are counted exactly, so every row is read. A million take some tenths of a second.
--
-- run_at may be infinity, which counts as scheduled, or -infinity, which counts as due: no age can be computed from it.
select case when pg_catalog.octet_length(queue) <= 512 then queue else pg_catalog.left(queue, 100) || ' ...' end as name,
       pg_catalog.count(*) filter (where due) as due,
       pg_catalog.count(*) filter (where status = 'queued' and not due) as scheduled,
       pg_catalog.count(*) filter (where status = 'running' and not expired) as running,
       pg_catalog.count(*) filter (where status = 'running' and expired) as expired,
       pg_catalog.count(*) filter (where status = 'done') as done,
       pg_catalog.count(*) filter (where status = 'failed') as failed,
       case when pg_catalog.min(run_at) filter (where due) = '-infinity' then '-infinity'
            else pg_catalog.to_char(pg_catalog.min(run_at) filter (where due) at time zone 'UTC',
                                    case when pg_catalog.min(run_at) filter (where due) < '0001-01-01 00:00Z' then 'YYYY-MM-DD"T"HH24:MI:SS.US"Z BC"'
                                         else 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' end) end as oldest_due_at,
       case when pg_catalog.min(run_at) filter (where due) > '-infinity'
            then extract(epoch from pg_catalog.now() - pg_catalog.min(run_at) filter (where due))::float8 end as oldest_due_seconds,
       pg_catalog.count(*) over () as queues
from (select id, queue, status, run_at,
             status = 'queued' and run_at <= pg_catalog.now() as due,
             coalesce(locked_until <= pg_catalog.now() or locked_until > pg_catalog.now() + interval '31 days', true) as expired -- as in expired.sql
      from {schema}.jobs) j
group by queue
order by pg_catalog.min(id)
limit @most
