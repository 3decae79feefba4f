-- When the last runs began, and how long they took once they were connected; the latest first. Those that a hand
-- has put outside of the years 1 to 9999 are left out.
--
-- in:    @most
-- out:   started_at, connect_ms and run_ms (null where the run recorded none)
-- locks: none but the reader's
-- index: ebb_jobs_runs_started
select started_at, connect_ms, run_ms
from {schema}.jobs_runs
where started_at >= '0001-01-01 00:00Z' and started_at < '10000-01-01 00:00Z'
order by started_at desc
limit @most
