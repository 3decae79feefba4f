-- In: $1 schema. Out: is there a table jobs_version, and has it integer columns version and oldest?
-- No lock but on the catalog.
select pg_catalog.count(c.oid) > 0,
       pg_catalog.count(a.attname) > 1
from pg_catalog.pg_namespace n
join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = 'jobs_version' and c.relkind = 'r'
left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname in ('version', 'oldest') and not a.attisdropped
    and a.atttypid = 'pg_catalog.int4'::pg_catalog.regtype::oid
where n.nspname = $1
