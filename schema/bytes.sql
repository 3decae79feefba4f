-- In: $1 schema, $2 names of tables that are locked by this transaction, so that it does not wait. Out: the size in bytes of
-- the largest, without what is kept beside the rows, which no index of the schema reads.
select coalesce(pg_catalog.max(pg_catalog.pg_relation_size(c.oid)), 0)
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
where c.relname = any ($2::text[]) and c.relkind = 'r'
