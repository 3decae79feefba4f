-- Completes one job in its handler's own transaction.
--
-- in:    @id, @attempt, @run (the fence)
-- out:   one row changed, or none when the lease is lost
-- locks: the row, until the handler's transaction ends
-- index: jobs_pkey
update {schema}.jobs
set status = 'done', locked_until = null, finished_at = pg_catalog.now()
where id = @id and status = 'running' and attempts = @attempt and locked_by = @run
