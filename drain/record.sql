-- The last statement of a run: looks at what is left, each count bounded by @most, and records the run.
--
-- in:    @queues that are drained here, @most, and the report's fields by their names; @stopped "time" is recorded as
--        "empty" where nothing due is left after all
-- out:   stopped, due_left, unhandled, the first names of the queues without a handler, how many those are, leased,
--        next_due_at
-- locks: none on jobs
-- index: ebb_jobs_due, from one queue's name to the next, so that a long backlog costs no more than @most rows a queue;
--        ebb_jobs_running
with recursive names (queue) as (
    (select queue from {schema}.jobs where status = 'queued' order by queue limit 1)
    union all
    select (select j.queue from {schema}.jobs j where j.status = 'queued' and j.queue > n.queue order by j.queue limit 1)
    from names n
    where n.queue is not null
),
counted as (
    select n.queue, n.queue = any (@queues::text[]) as here,
           (select pg_catalog.count(*)
            from (select from {schema}.jobs j
                  where j.status = 'queued' and j.queue = n.queue and j.run_at <= pg_catalog.now() limit @most::int) d) as due,
           (select j.run_at from {schema}.jobs j
            where j.status = 'queued' and j.queue = n.queue and j.run_at > pg_catalog.now() and j.run_at < '9999-12-31' -- the last year that JSON's times have
            order by j.run_at limit 1) as next
    from names n
    where n.queue is not null
),
looked as (
    select coalesce(pg_catalog.sum(due) filter (where here), 0)::bigint as due_left,
           coalesce(pg_catalog.sum(due) filter (where not here), 0)::bigint as unhandled,
           coalesce((pg_catalog.array_agg({queue} order by queue) filter (where not here and due > 0))[1:20], '{}')::text[] as others,
           pg_catalog.count(*) filter (where not here and due > 0) as other_queues,
           (select pg_catalog.count(*)
            from (select from {schema}.jobs
                  where status = 'running' and locked_by is distinct from @run::text limit @most::int) r) as leased,
           pg_catalog.min(next) filter (where here) as next_due_at
    from counted j
),
recorded as (
    insert into {schema}.jobs_runs
        (id, host, version, started_at, finished_at, stopped, error, claimed, done, retried, failed, released, lost,
         abandoned, reaped, pruned, vacuum, due_left, unhandled, leased, next_due_at, suspended, misconfigured,
         connect_ms, run_ms, exchanges)
    select @run::text, @host::text, @version::text, pg_catalog.now() - @run_ms::bigint::float8 * interval '1 millisecond', pg_catalog.now(),
           case when @stopped::text = 'time' and due_left = 0 then 'empty' else @stopped end, @error::text,
           @claimed::bigint, @done::bigint, @retried::bigint, @failed::bigint, @released::bigint, @lost::bigint,
           @abandoned::bigint, @reaped::bigint, @pruned::bigint, @vacuum::text,
           due_left, unhandled, leased, next_due_at, @suspended::text[], @misconfigured::text[],
           @connect_ms::bigint, @run_ms, @exchanges::bigint
    from looked
    on conflict (id) do nothing
    returning stopped
)
select coalesce((select stopped from recorded), @stopped), due_left, unhandled, others, other_queues, leased, next_due_at
from looked
