-- Why check.sql failed: asked in an exchange of its own.
--
-- in:    @schema, the bare name
-- out:   whether jobs_version is there, isolation level, read-only, in recovery
-- locks: none
select exists (select from pg_catalog.pg_tables
               where schemaname operator(pg_catalog.=) @schema and tablename operator(pg_catalog.=) 'jobs_version'),
       pg_catalog.current_setting('transaction_isolation'),
       pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on',
       pg_catalog.pg_is_in_recovery()
