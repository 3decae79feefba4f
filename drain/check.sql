-- The first question on every connection: fails the whole exchange, by dividing by zero, unless the tables are at the
-- version that this program knows, the session reads committed rows and the server takes writes. Nothing after it in
-- the exchange is done then. That it failed is all it says; diagnose.sql finds out why.
--
-- in:    @version; @schema, the bare name
-- out:   the database's time, 1, whether row level security may hide jobs from this role
-- locks: none
select now(), 1 / coalesce(
    (select v.version = @version::int from {schema}.jobs_version v)
    and current_setting('transaction_isolation') = 'read committed'
    and current_setting('transaction_read_only') = 'off', false)::int,
    pg_catalog.row_security_active(pg_catalog.format('%I.jobs', @schema::text))
