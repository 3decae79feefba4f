-- In: $1 schema. Out: the columns of its table jobs, as they are. No lock but on the catalog.
select a.attname::text,
       pg_catalog.format_type(a.atttypid, a.atttypmod),
       a.attnotnull,
       a.atthasdef or a.attidentity <> '' as filled,
       a.attgenerated <> '' as computed,
       exists (
           select from pg_catalog.pg_index i
           where i.indrelid = c.oid and i.indisprimary and i.indkey::text = a.attnum::text
       )
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relname = 'jobs'
order by a.attnum
