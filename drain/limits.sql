-- Begins every exchange: no statement in it waits for a lock for more than 3 s or works for more than 30 s. Local to
-- the exchange's transaction, because behind a pooler the session is not ours.
select pg_catalog.set_config('lock_timeout', '3s', true), pg_catalog.set_config('statement_timeout', '30s', true)
