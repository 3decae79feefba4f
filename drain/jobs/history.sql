-- When the last runs began, and how long they took once they were connected; the latest first.
--
-- in:    @most
-- out:   started_at, connect_ms and run_ms (null where the run recorded none)
-- locks: none but the reader's
-- index: ebb_jobs_runs_started
select started_at, connect_ms, run_ms
from {schema}.jobs_runs
order by started_at desc
limit @most
