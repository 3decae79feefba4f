-- Begins every exchange: no statement in it waits for a lock for more than 3 s or works for more than 30 s. What a role
-- or database may have set otherwise is set right with it: arrays with NULL in them are read as such, and no statement
-- of a few milliseconds is compiled first, which takes seconds where the planner's settings make its costs look high.
-- Nor is an index read as a whole where its first entry would do: those of due and running jobs are short but for the dead
-- entries that an old snapshot keeps there, which no estimate knows of.
-- Local to the exchange's transaction, because behind a pooler the session is not ours; what triggers of the user's ask in
-- it goes by the same settings.
select pg_catalog.set_config('lock_timeout', '3s', true), pg_catalog.set_config('statement_timeout', '30s', true),
       pg_catalog.set_config('array_nulls', 'on', true), pg_catalog.set_config('jit', 'off', true),
       pg_catalog.set_config('enable_bitmapscan', 'off', true)
