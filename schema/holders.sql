-- In: $1 key of an advisory lock. Out: who holds it in this database. Postgres shows the key's halves as two oids.
select coalesce('pid ' || l.pid::text, 'a prepared transaction'), coalesce(a.usename::text, '?'), coalesce(a.application_name, ''), coalesce(a.state, '?'),
       coalesce(pg_catalog.to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'), ''
from pg_catalog.pg_locks l
left join pg_catalog.pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
  and l.classid::bigint = ($1::bigint >> 32) & 4294967295
  and l.objid::bigint = $1::bigint & 4294967295
