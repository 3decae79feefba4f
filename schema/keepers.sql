-- In: $1 schema. Out: at most three other sessions that keep an index of the schema's tables from being built: those that
-- build one, vacuum or change the table; the oldest transaction first. No lock.
select 'pid ' || a.pid, coalesce(a.usename::text, '?'), coalesce(a.application_name, ''), coalesce(a.state, '?'),
       coalesce(pg_catalog.to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'),
       coalesce(b.command, pg_catalog.string_agg(distinct k.mode || ' on ' || c.relname, ', '))
from pg_catalog.pg_stat_activity a
join pg_catalog.pg_locks k on k.pid = a.pid and k.locktype = 'relation' and k.granted and k.database = a.datid
     and k.mode in ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
join pg_catalog.pg_class c on c.oid = k.relation and c.relkind = 'r'
join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
left join pg_catalog.pg_stat_progress_create_index b on b.pid = a.pid
where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
group by a.pid, a.usename, a.application_name, a.state, a.xact_start, b.command
order by a.xact_start nulls last, a.pid
limit 3
