-- What may keep a compute awake, seen from one of its own sessions.
--
-- in:    nothing
-- out:   one row, see sample
-- locks: none that anybody would wait for; statistics are read as they are
-- why:   the rules of Neon's monitor (compute_tools/src/monitor.rs), in its order. Databases that only the vendor uses
--        count for the first two columns alone; this session counts nowhere.
SELECT
	coalesce((SELECT pg_catalog.sum(active_time) FROM pg_catalog.pg_stat_database
		WHERE datname NOT IN ('postgres', 'template0', 'template1')), 0) AS active_time,
	coalesce((SELECT pg_catalog.sum(sessions) FROM pg_catalog.pg_stat_database
		WHERE datname NOT IN ('postgres', 'template0', 'template1')), 0)::bigint AS opened,
	pg_catalog.count(*) FILTER (WHERE is_client AND state <> 'idle') AS busy,
	pg_catalog.count(*) FILTER (WHERE is_client) AS sessions,
	coalesce(extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.max(state_change) FILTER (WHERE is_client)), -1)::float8 AS idle_for,
	pg_catalog.count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS autovacuum,
	pg_catalog.count(*) FILTER (WHERE backend_type = 'walsender') AS walsenders,
	(SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_subscription WHERE pid IS NOT NULL) AS subscriptions
FROM (SELECT *, backend_type = 'client backend' AS is_client FROM pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid()) AS a
