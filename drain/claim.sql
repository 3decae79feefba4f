-- Claims due jobs: queued -> running, attempts + 1, under a lease. A queued row whose attempts are spent is failed
-- instead of claimed, so that it is never parked in silence.
--
-- in:    @queues in drain order, and for each: @rooms (most jobs), @leases (microseconds), @since and @after (a run_at and
--        an id up to which this run saw nothing due any more: where an index full of dead entries need not be read again);
--        @most jobs; @bytes of payload; @large: whether a job with a payload over that may be claimed, alone;
--        @run; @skip: ids that this run released or cannot claim; @only: null, or the ids that may be claimed
-- out:   the jobs in the order of their queues, then run_at, id; their status says which were failed, and is null where a
--        trigger suppressed the change. A payload over @bytes is null: read.sql reads it
-- locks: the rows, FOR NO KEY UPDATE, the weakest lock that keeps other claimers out: a session that inserts a reference
--        to a job holds KEY SHARE on it and neither waits for the claim nor hides the job. What is locked is skipped.
-- index: ebb_jobs_due
-- why:   the materialized choice bounds the batch under every plan; an IN (SELECT ... LIMIT) may be run again for every
--        row of the table and then takes more. Jobs that were lost before are left to claim_alone.sql.
with asked as (
    select a.*
    from rows from (pg_catalog.unnest(@queues::text[]), pg_catalog.unnest(@rooms::int[]), pg_catalog.unnest(@leases::bigint[]),
                    pg_catalog.unnest(@since::timestamptz[]), pg_catalog.unnest(@after::bigint[])) with ordinality
         as a (queue, room, lease, since, after, place)
),
due as materialized (
    select j.id, j.run_at, a.place, a.lease, {size} as size
    from asked a
    cross join lateral (
        select d.id, d.run_at, d.payload
        from {schema}.jobs d
        where d.status = 'queued' and d.queue = a.queue and d.run_at <= pg_catalog.now() and (d.run_at, d.id) > (a.since, a.after)
          and d.id <> all (@skip::bigint[]) and (@only::bigint[] is null or d.id = any (@only))
          and (not {alone} or d.attempts >= d.max_attempts)
        order by d.run_at, d.id
        limit a.room
        for no key update skip locked
    ) j
    limit @most
),
taken as (
    select id, place, lease, size,
           pg_catalog.sum(size) over (order by place, run_at, id) as total,
           pg_catalog.row_number() over (order by place, run_at, id) as nth
    from due
    where size <= @bytes::bigint or @large
),
claimed as (
    update {schema}.jobs j
    set status = case when j.attempts >= j.max_attempts then 'failed' else 'running' end,
        attempts = case when j.attempts >= j.max_attempts then j.attempts else j.attempts + 1 end,
        locked_until = case when j.attempts >= j.max_attempts then null
                            else pg_catalog.now() + t.lease::float8 * interval '1 microsecond' end,
        locked_by = @run::text,
        started_at = case when j.attempts >= j.max_attempts then j.started_at else pg_catalog.now() end,
        finished_at = case when j.attempts >= j.max_attempts then pg_catalog.now() end,
        last_error = case when j.attempts >= j.max_attempts
                          then {head} || 'not started: its attempts were spent before'
                               || coalesce('; before that: ' || pg_catalog.left(j.last_error, 1000), '')
                          else j.last_error end
    from taken t
    where j.id = t.id and (t.total <= @bytes::numeric or t.nth = 1)
    returning j.id, j.queue, case when t.size <= @bytes::bigint then j.payload::text end as payload, j.run_at, j.attempts,
              j.max_attempts, j.lost, {last_error} as last_error, j.status, t.place
)
select id, queue, payload, run_at, attempts, max_attempts, lost, last_error, status
from (
    select * from claimed
    union all
    select id, null, null, null, null, null, null, null, null, null
    from taken
    where (total <= @bytes::numeric or nth = 1) and id not in (select c.id from claimed c)
) c
order by place, run_at, id
