-- Reads the payload of a claimed job that is too large to come with its claim.
--
-- in:    @id, @attempt, @run (the fence)
-- out:   the payload, or no row when the job is no longer this run's
-- locks: none
-- index: jobs_pkey
select payload::text
from {schema}.jobs
where id = @id::bigint and status = 'running' and attempts = @attempt::int and locked_by = @run::text
