-- The first question on every connection: fails the whole exchange, by dividing by zero, unless programs of this
-- version work on the tables, the session reads committed rows and the server takes writes. Nothing after it in
-- the exchange is done then. That it failed is all it says; diagnose.sql finds out why.
--
-- in:    @version; @schema, the bare name
-- out:   the database's time, 1, whether row level security may hide jobs from this role
-- locks: none
select pg_catalog.now(), 1 operator(pg_catalog./) coalesce(
    (select @version::int operator(pg_catalog.>=) v.oldest and @version operator(pg_catalog.<=) v.version from {schema}.jobs_version v)
    and pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.=) 'read committed'
    and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'off', false)::int,
    pg_catalog.row_security_active(pg_catalog.format('%I.jobs', @schema::pg_catalog.text))
