-- The last runs, the latest first. Those that a hand has put outside of the years 1 to 9999 are left out.
--
-- in:    @most
-- out:   their rows, each text cut to what a run may have written, or to what is enough of it
-- locks: none but the reader's
-- index: ebb_jobs_runs_started
select pg_catalog.left(id, 64), coalesce(pg_catalog.left(host, 255), ''), coalesce(pg_catalog.left(version, 255), ''), started_at,
       case when finished_at >= '0001-01-01 00:00Z' and finished_at < '10000-01-01 00:00Z' then finished_at end, coalesce(pg_catalog.left(stopped, 64), ''),
       coalesce(pg_catalog.left(error, 2000), ''),
       claimed, done, retried, failed, released, lost, abandoned, reaped, run_ms
from {schema}.jobs_runs
where started_at >= '0001-01-01 00:00Z' and started_at < '10000-01-01 00:00Z'
order by started_at desc
limit @most
