-- What keeps vacuum from its work on the table of jobs, in one row.
--
-- in:    @schema
-- out:   dead rows by the server's statistics, null where it keeps none; size with its indexes in bytes; this role, and whether
--        it sees all sessions; how many sessions of this database it does not; and the oldest holder, with a null kind where
--        none is seen: kind, pid, application, user, state, name, since (null where that is not known), age in transactions
-- locks: none that anybody would wait for; statistics are read as they are
-- index: none; some rows for each session, slot and prepared transaction
-- why:   a row that died is kept for as long as a snapshot may see it that was taken before: of a session of this
--        database, of a standby that gives feedback, of a slot, of a prepared transaction. A vacuum's own holds nothing.
with held (kind, pid, application, username, state, name, since, held_xid) as (
    select case when backend_type = 'walsender' then 'standby' else 'session' end,
           pid, application_name, usename::text, state, null::text, coalesce(xact_start, backend_start), x.xid
    from pg_catalog.pg_stat_activity a
    cross join lateral (values (a.backend_xmin), (a.backend_xid)) as x (xid)
    where x.xid is not null and a.pid <> pg_catalog.pg_backend_pid()
      and (a.datname = pg_catalog.current_database() or a.backend_type = 'walsender') and a.backend_type <> 'autovacuum worker'
      and coalesce(a.query, '') !~* '^\s*vacuum\M'
    union all
    select 'replication slot', active_pid, null, null, case when active then 'active' else 'inactive' end, slot_name::text, null, xmin
    from pg_catalog.pg_replication_slots
    where xmin is not null
    union all
    select 'prepared transaction', null, null, owner::text, 'prepared', gid, prepared, transaction
    from pg_catalog.pg_prepared_xacts
    where database = pg_catalog.current_database()
),
oldest as (select held.*, pg_catalog.age(held_xid)::bigint as xids from held order by pg_catalog.age(held_xid) desc, since limit 1)
select (select n_dead_tup from pg_catalog.pg_stat_all_tables where schemaname = @schema and relname = 'jobs'),
       (select pg_catalog.pg_total_relation_size(c.oid) from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = @schema where c.relname = 'jobs' and c.relkind = 'r'),
       current_user::text, pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
       (select pg_catalog.count(*) from pg_catalog.pg_stat_activity
        where backend_type is null and (datname = pg_catalog.current_database() or datname is null and usename is not null)),
       o.kind, o.pid, coalesce(o.application, ''), coalesce(o.username, ''), coalesce(o.state, ''), coalesce(o.name, ''), o.since, o.xids
from (select) as one
left join oldest o on true
