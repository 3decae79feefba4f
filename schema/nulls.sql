-- Out: in which columns of a table jobs there is a null that ebb could not work with. Reads it once.
select pg_catalog.unnest(array[
    case when pg_catalog.bool_or(queue is null) then 'queue' end,
    case when pg_catalog.bool_or(payload is null) then 'payload' end,
    case when pg_catalog.bool_or(run_at is null) then 'run_at' end,
    case when pg_catalog.bool_or(attempts is null) then 'attempts' end,
    case when pg_catalog.bool_or(max_attempts is null) then 'max_attempts' end,
    case when pg_catalog.bool_or(created_at is null) then 'created_at' end
])
from {{schema}}.jobs
