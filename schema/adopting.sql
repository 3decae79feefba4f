-- In: $1 schema. Out: of its table jobs the size in bytes, whether its adoption has begun, whether its rows have been
-- found to be as the checks want them, and its owner where that is another role than this one. No lock but on the catalog.
select pg_catalog.pg_relation_size(c.oid),
       exists (select from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.conname = 'ebb_adopting'),
       not exists (
           select from pg_catalog.pg_constraint k
           where k.conrelid = c.oid and k.conname in ('ebb_adopting', 'jobs_status_check') and not k.convalidated
       ),
       case when pg_catalog.pg_get_userbyid(c.relowner) <> current_user then pg_catalog.pg_get_userbyid(c.relowner)::text end
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
where c.relname = 'jobs' and c.relkind = 'r'
