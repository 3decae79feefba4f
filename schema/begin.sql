-- In: $1 key of the migration's lock. Out: whether this transaction has it now, and the server's version.
-- The lock is only tried, so that no transaction, and no server connection of a pooler, is held while waiting for it.
-- lock_timeout: whoever queues behind us for a table waits no longer than that. search_path: names that the migrations
-- do not qualify are Postgres' own, whatever the role has set.
with settings as materialized (
    select pg_catalog.set_config('lock_timeout', '500ms', true),
           pg_catalog.set_config('statement_timeout', '0', true),
           pg_catalog.set_config('client_min_messages', 'warning', true),
           pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
)
select pg_catalog.pg_try_advisory_xact_lock($1::bigint), pg_catalog.current_setting('server_version_num')::int
from settings
