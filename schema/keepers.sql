-- In: $1 schema. Out: at most three others that keep an index of the schema's tables from being built: sessions that build
-- one, vacuum or change the table, and prepared transactions that changed it; the oldest transaction first. No lock.
with held as (
    select k.pid, k.virtualtransaction, pg_catalog.string_agg(distinct k.mode || ' on ' || c.relname::text, ', ') as modes
    from pg_catalog.pg_locks k
    join pg_catalog.pg_class c on c.oid = k.relation and c.relkind = 'r'
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
    where k.locktype = 'relation' and k.granted
      and k.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
      and k.mode in ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    group by k.pid, k.virtualtransaction
),
others (who, username, application, state, since, what, pid) as (
    select 'pid ' || a.pid::text, coalesce(a.usename::text, '?'), coalesce(a.application_name, ''), coalesce(a.state, '?'), a.xact_start,
           coalesce(b.command, l.modes), a.pid
    from held l
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
    left join pg_catalog.pg_stat_progress_create_index b on b.pid = a.pid
    where a.pid <> pg_catalog.pg_backend_pid()
    union all
    select 'the prepared transaction ' || pg_catalog.quote_literal(p.gid), p.owner::text, '', 'prepared', p.prepared, l.modes, 0
    from held l
    join pg_catalog.pg_locks x on x.virtualtransaction = l.virtualtransaction and x.locktype = 'transactionid' and x.granted
    join pg_catalog.pg_prepared_xacts p on p.transaction = x.transactionid
    where l.pid is null
)
select who, username, application, state,
       coalesce(pg_catalog.to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'), what
from others
order by since nulls last, pid
limit 3
