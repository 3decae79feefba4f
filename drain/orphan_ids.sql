-- What runs under this run's id without being in flight, for giving it back one by one.
--
-- in:    @run, @in_flight: ids of all that this run holds, abandoned ones included
-- out:   ids
-- locks: none
-- index: ebb_jobs_running
select id
from {schema}.jobs
where status = 'running' and locked_by = @run::text and id <> all (@in_flight::bigint[])
order by id
