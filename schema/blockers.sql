-- In: $1 schema. Out: at most three others: sessions and prepared transactions with locks on relations of the schema
-- first, then sessions that have written and not committed (whoever creates an object holds up all who create one of that
-- name); the oldest transaction first. No lock.
with held as (
    select k.pid, k.virtualtransaction, pg_catalog.string_agg(distinct k.mode || ' on ' || c.relname::text, ', ') as modes
    from pg_catalog.pg_locks k
    join pg_catalog.pg_class c on c.oid = k.relation and c.relkind in ('r', 'p', 'v', 'm', 'f')
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
    where k.locktype = 'relation' and k.granted
      and k.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
    group by k.pid, k.virtualtransaction
),
others (who, username, application, state, since, what, began, pid) as (
    select 'pid ' || a.pid::text, coalesce(a.usename::text, '?'), coalesce(a.application_name, ''), coalesce(a.state, '?'),
           a.xact_start, coalesce(l.modes, 'has written and not committed'), l.modes is null, a.pid
    from pg_catalog.pg_stat_activity a
    left join held l on l.pid = a.pid
    where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
      and (l.modes is not null or a.backend_xid is not null)
    union all
    select 'the prepared transaction ' || pg_catalog.quote_literal(p.gid), p.owner::text, '', 'prepared', p.prepared, l.modes, false, 0
    from held l
    join pg_catalog.pg_locks x on x.virtualtransaction = l.virtualtransaction and x.locktype = 'transactionid' and x.granted
    join pg_catalog.pg_prepared_xacts p on p.transaction = x.transactionid
    where l.pid is null
)
select who, username, application, state,
       coalesce(pg_catalog.to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'), what
from others
order by began, since nulls last, pid
limit 3
