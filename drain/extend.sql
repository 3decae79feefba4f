-- Moves the end of leases forward.
--
-- in:    @run, and for each job: @ids, @attempts (the fence), @leases (microseconds from now)
-- out:   id of each row that was chosen, and whether it was changed, for a trigger may suppress that. Of the others
--        lookup.sql tells whether they are locked, settled or lost
-- locks: the rows, in id order; what is locked is skipped
-- index: jobs_pkey, or ebb_jobs_running; for "= any" and "in" see settle.sql
with mine as materialized (
    select j.id, h.lease
    from rows from (pg_catalog.unnest(@ids::bigint[]), pg_catalog.unnest(@attempts::int[]), pg_catalog.unnest(@leases::bigint[])) as h (id, attempt, lease)
    join {schema}.jobs j on j.id = h.id and j.status = 'running' and j.attempts = h.attempt and j.locked_by = @run
    where j.id = any (@ids::bigint[])
    order by j.id
    for no key update of j skip locked
),
extended as (
    update {schema}.jobs j
    set locked_until = pg_catalog.now() + m.lease::float8 * interval '1 microsecond'
    from mine m
    where j.id = m.id
    returning j.id
)
select m.id, m.id in (select e.id from extended e)
from mine m
