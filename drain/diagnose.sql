-- Why check.sql failed: asked in an exchange of its own.
--
-- in:    @schema, the bare name
-- out:   whether jobs_version is there, isolation level, read-only, in recovery
-- locks: none
select exists (select from pg_catalog.pg_tables where schemaname = @schema and tablename = 'jobs_version'),
       current_setting('transaction_isolation'),
       current_setting('transaction_read_only') = 'on',
       pg_catalog.pg_is_in_recovery()
