-- Inserts jobs, and leaves out those whose key a queued or running job of their queue holds.
--
-- in:    for each job, in the order of queues and keys: @queues, @payloads, @run_at (null: now), @keys (empty: none),
--        @max_attempts
-- out:   how many were inserted, and the id of the first (0 where there is none)
-- locks: the keys of the jobs, in the order given, until the transaction ends: two sets with keys in common wait for
--        each other but never in a circle. It also waits for whoever is settling a job that holds one of the keys
-- index: ebb_jobs_taken
-- why:   arrays make one statement of any number of jobs, and nothing has to be prepared for it. A COPY can neither
--        leave out a job nor fall back on now() for some of them. The payload is sent as text, because jsonb reads the
--        same bytes from it in every mode of the driver.
with inserted as (
    insert into {schema}.jobs (queue, payload, run_at, unique_key, max_attempts)
    select n.queue, n.payload::jsonb, coalesce(n.run_at, pg_catalog.now()), nullif(n.key, ''), n.max_attempts
    from rows from (pg_catalog.unnest(@queues::text[]), pg_catalog.unnest(@payloads::text[]), pg_catalog.unnest(@run_at::timestamptz[]),
                    pg_catalog.unnest(@keys::text[]), pg_catalog.unnest(@max_attempts::int[]))
         with ordinality as n (queue, payload, run_at, key, max_attempts, place)
    order by n.place
    on conflict (queue, unique_key) where status in ('queued', 'running') and unique_key is not null do nothing
    returning id
)
select pg_catalog.count(*), coalesce(pg_catalog.min(id), 0) from inserted
