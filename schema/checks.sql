-- In: $1 schema. Out: the check constraints on status alone of its table jobs. No lock but on the catalog.
select k.conname::text, pg_catalog.pg_get_constraintdef(k.oid)
from pg_catalog.pg_constraint k
join pg_catalog.pg_class c on c.oid = k.conrelid and c.relname = 'jobs'
join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'status'
where k.contype = 'c' and k.conkey operator(pg_catalog.=) array[a.attnum]
order by 1
