-- In: $1 schema. Out: what already has one of our names there: what it is, and its name. No lock but on the catalog.
select case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
           when 'm' then 'materialized view' when 'f' then 'foreign table' when 'i' then 'index' when 'I' then 'index'
           when 'S' then 'sequence' else 'type' end,
       c.relname::text
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
where c.relname in ('jobs', 'jobs_runs', 'jobs_archive', 'jobs_recurring', 'jobs_version',
                    'ebb_jobs_due', 'ebb_jobs_taken', 'ebb_jobs_running', 'ebb_jobs_runs_started')
union all
select 'function', 'enqueue(' || pg_catalog.oidvectortypes(p.proargtypes) || ')'
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace and n.nspname = $1
where p.proname = 'enqueue'
  and pg_catalog.oidvectortypes(p.proargtypes) = 'text, jsonb, timestamp with time zone, text, integer'
order by 1, 2
