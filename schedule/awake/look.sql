-- Who may keep the server awake, as JSON in one row.
--
-- in:    nothing
-- out:   one text, see Snapshot. What this role may not see of a session is null, its type included
-- locks: none that anybody would wait for; statistics are read as they are
-- index: none; some rows for each session and database
-- why:   processes that no vendor counts (checkpointer, launchers, parallel workers) are left out, and so is this
--        session. Where the type is hidden, what belongs to no database is one of them, unless it sends WAL: the pids of
--        WAL senders are shown to everybody. Of the last statement no more is taken than whether it is a LISTEN.
select pg_catalog.json_build_object(
    'at', pg_catalog.clock_timestamp(),
    'start', pg_catalog.pg_postmaster_start_time(),
    'role', current_user,
    'database', pg_catalog.current_database(),
    'sees_all', pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
    'cron', exists (select from pg_catalog.pg_extension where extname = 'pg_cron') or pg_catalog.current_setting('cron.database_name', true) is not null,
    'subscriptions', (select coalesce(pg_catalog.json_agg(distinct subname::text), '[]') from pg_catalog.pg_stat_subscription where pid is not null),
    'sessions', (
        select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
                   'pid', a.pid,
                   'type', coalesce(a.backend_type, case when r.pid is not null then 'walsender' end),
                   'application', coalesce(a.application_name, ''),
                   'user', coalesce(a.usename, ''),
                   'address', case when a.backend_type in ('client backend', 'walsender') then coalesce(pg_catalog.host(a.client_addr), 'local') else '' end,
                   'database', coalesce(a.datname, ''),
                   'state', a.state,
                   'began', a.backend_start,
                   'changed', a.state_change,
                   'listens', coalesce(a.query ~* '^\s*listen\s', false)) order by a.pid), '[]')
        from pg_catalog.pg_stat_activity a
        left join pg_catalog.pg_stat_replication r on r.pid = a.pid
        where a.pid <> pg_catalog.pg_backend_pid()
          and (a.backend_type in ('client backend', 'walsender', 'autovacuum worker')
               or a.backend_type is null and (a.datid is not null or r.pid is not null))),
    'databases', (
        select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', datname, 'opened', sessions, 'active_ms', active_time) order by datname), '[]')
        from pg_catalog.pg_stat_database
        where datname is not null)
)::text
