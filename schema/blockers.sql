-- In: $1 schema. Out: at most three other sessions, those with locks on relations of the schema first, then those that
-- have written and not committed (whoever creates an object holds up all who create one of that name); the oldest
-- transaction first. No lock.
select a.pid, coalesce(a.usename::text, '?'), coalesce(a.application_name, ''), coalesce(a.state, '?'),
       coalesce(l.held, 'has written and not committed')
from pg_catalog.pg_stat_activity a
left join lateral (
    select pg_catalog.string_agg(distinct k.mode || ' on ' || c.relname, ', ') as held
    from pg_catalog.pg_locks k
    join pg_catalog.pg_class c on c.oid = k.relation and c.relkind in ('r', 'p', 'v', 'm', 'f')
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
    where k.pid = a.pid and k.locktype = 'relation' and k.granted
      and k.database = a.datid
) l on true
where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
  and (l.held is not null or a.backend_xid is not null)
order by l.held is null, a.xact_start nulls last, a.pid
limit 3
