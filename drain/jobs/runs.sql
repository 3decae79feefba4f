-- The last runs, the latest first.
--
-- in:    @most
-- out:   their rows
-- locks: none but the reader's
-- index: ebb_jobs_runs_started
select id, coalesce(host, ''), coalesce(version, ''), started_at, finished_at, coalesce(stopped, ''), coalesce(error, ''),
       claimed, done, retried, failed, released, lost, abandoned, reaped, run_ms
from {schema}.jobs_runs
order by started_at desc
limit @most
