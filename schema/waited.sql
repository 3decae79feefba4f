-- In: $1 schema, quoted. Out: for whose transaction an index of it that is being built or dropped waits; no row where that
-- works or is over. No lock.
select coalesce('pid ' || nullif(b.pid, 0), 'a prepared transaction'), coalesce(a.usename::text, '?'),
       coalesce(a.application_name, ''), coalesce(a.state, '?'),
       coalesce(pg_catalog.to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'), ''
from pg_catalog.pg_stat_activity w
cross join lateral unnest(pg_catalog.pg_blocking_pids(w.pid)) as b (pid)
left join pg_catalog.pg_stat_activity a on a.pid = b.pid
where w.datname = pg_catalog.current_database() and w.wait_event_type = 'Lock'
  and w.query ~ '^(create (unique )?|drop )index concurrently ' and pg_catalog.strpos(w.query, $1) > 0
order by a.xact_start nulls first
limit 3
