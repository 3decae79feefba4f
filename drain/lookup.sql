-- How jobs stand that an exchange did not answer for.
--
-- in:    @ids
-- out:   id, status, attempts, locked_by, lost of those that are still there
-- locks: none
-- index: jobs_pkey
select id, status, attempts, coalesce(pg_catalog.left(locked_by, 64), ''), lost
from {schema}.jobs
where id = any (@ids::bigint[])
