-- In: $1 schema, quoted. Out: for whose transactions an index of it that is being built or dropped waits; one row of
-- empty texts where that works; no row where none is, or where it is not shown. No lock.
select case when b.pid is null then '' when b.pid = 0 then coalesce('the prepared transaction ' || pg_catalog.quote_literal(p.gid), 'a prepared transaction')
           else 'pid ' || b.pid::text end,
       coalesce(a.usename::text, p.owner::text, '?'), coalesce(a.application_name, ''),
       coalesce(a.state, case when b.pid = 0 then 'prepared' end, '?'),
       coalesce(pg_catalog.to_char(coalesce(a.xact_start, p.prepared) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'), ''
from pg_catalog.pg_stat_activity w
left join lateral pg_catalog.unnest(case when w.wait_event_type = 'Lock' then pg_catalog.pg_blocking_pids(w.pid) end) as b (pid) on true
left join pg_catalog.pg_stat_activity a on a.pid = b.pid
left join lateral (
    -- Postgres gives prepared transactions the pid 0, and no session. Which it is, their locks tell.
    select t.gid, t.owner, t.prepared
    from pg_catalog.pg_locks n
    join pg_catalog.pg_locks h on h.granted and h.pid is null and h.locktype = n.locktype
         and h.database is not distinct from n.database and h.relation is not distinct from n.relation
         and h.transactionid is not distinct from n.transactionid
    join pg_catalog.pg_locks x on x.virtualtransaction = h.virtualtransaction and x.locktype = 'transactionid' and x.granted
    join pg_catalog.pg_prepared_xacts t on t.transaction = x.transactionid
    where n.pid = w.pid and not n.granted
    order by t.prepared
    limit 1
) p on b.pid = 0
where w.datname = pg_catalog.current_database()
  and w.query ~ '^(create (unique )?|drop )index concurrently ' and pg_catalog.strpos(w.query, $1) > 0
  and w.state = 'active'
order by b.pid is null, coalesce(a.xact_start, p.prepared) nulls first
limit 3
