-- Whether a job that has to run alone is due: asked before a hand is emptied for one.
--
-- in:    @queues that are drained here; @skip: ids not to be claimed
-- out:   true or false
-- locks: none
-- index: ebb_jobs_due
select exists (
    select from {schema}.jobs d
    where d.status = 'queued' and d.queue = any (@queues::text[]) and d.run_at <= pg_catalog.now() and d.id <> all (@skip::bigint[])
      and d.attempts < d.max_attempts and {alone})
