-- What last_error starts with, for a row j that the run @run writes.
pg_catalog.format('attempt %s of %s, %s, run %s: ', j.attempts, j.max_attempts, {utc}, @run::text)
