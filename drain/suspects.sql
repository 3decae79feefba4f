-- The rows that a reap or a claim may have failed on, for doing it again row by row.
--
-- in:    @queues in drain order; @most of either kind; @skip: ids that are left out
-- out:   id, whether its lease ran out (else it is due): the first rows in their order, then the last one of all, then the first
--        that runs alone
-- locks: none
-- index: ebb_jobs_running, ebb_jobs_due
(select id, true
 from {schema}.jobs
 where status = 'running' and {expired} and id <> all (@skip::bigint[])
 order by id
 limit @most)
union all
(select id, true
 from {schema}.jobs
 where status = 'running' and {expired} and id <> all (@skip::bigint[])
 order by id desc
 limit 1)
union all
(select j.id, false
 from pg_catalog.unnest(@queues::text[]) with ordinality as q (queue, place)
 cross join lateral (
     select d.id, d.run_at
     from {schema}.jobs d
     where d.status = 'queued' and d.queue = q.queue and d.run_at <= pg_catalog.now() and d.id <> all (@skip::bigint[])
       and (not {alone} or d.attempts >= d.max_attempts)
     order by d.run_at, d.id
     limit @most
 ) j
 order by q.place, j.run_at, j.id
 limit @most)
union all
(select j.id, false
 from pg_catalog.unnest(@queues::text[]) with ordinality as q (queue, place)
 cross join lateral (
     select d.id
     from {schema}.jobs d
     where d.status = 'queued' and d.queue = q.queue and d.run_at <= pg_catalog.now() and d.id <> all (@skip::bigint[])
       and (not {alone} or d.attempts >= d.max_attempts)
     order by d.run_at desc, d.id desc
     limit 1
 ) j
 order by q.place desc
 limit 1)
union all
(select j.id, false
 from pg_catalog.unnest(@queues::text[]) with ordinality as q (queue, place)
 cross join lateral (
     select d.id
     from {schema}.jobs d
     where d.status = 'queued' and d.queue = q.queue and d.run_at <= pg_catalog.now() and d.id <> all (@skip::bigint[])
       and d.attempts < d.max_attempts and {alone}
     order by d.run_at, d.id
     limit 1
 ) j
 order by q.place
 limit 1)
