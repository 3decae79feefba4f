-- What this run reaped, or failed because its attempts were spent, in an exchange whose answer was lost: both wrote this
-- run's id into last_error.
--
-- in:    @run
-- out:   id, queue, status (failed, or queued whatever became of it since), last_error
-- locks: none
-- index: none: it reads all jobs, which is rare enough
select id, {queue}, case when status = 'failed' then 'failed' else 'queued' end, {last_error}
from {schema}.jobs j
where last_error like 'attempt % of %, %, run %: the lease ran out, taken back by run ' || @run::text || ': the worker was lost'
   or last_error like 'attempt % of %, %, run ' || @run::text || ': not started: its attempts were spent before%'
