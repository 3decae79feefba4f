-- Gives a jobs table of before ebb the columns and defaults that it lacks. Nothing is removed from a row, and none is
-- read or rewritten: a new column with a constant default costs nothing. Locks the table against everyone for a moment.
-- Finished rows keep a null finished_at: when they finished is not known.
alter table {{schema}}.jobs
    add column if not exists locked_by   text,
    add column if not exists lost        int not null default 0,
    add column if not exists unique_key  text,
    add column if not exists started_at  timestamptz,
    add column if not exists finished_at timestamptz;

-- A statement of its own: "drop not null" comes before "add column" within one. The checks hold for what is written from
-- now on; what is there already is looked through by adopt_check.sql. That there is one called ebb_adopting says that the
-- adoption has begun and not ended.
alter table {{schema}}.jobs
    alter column queue        set default 'default',
    alter column status       set default 'queued',
    alter column run_at       set default pg_catalog.now(),
    alter column attempts     set default 0,
    alter column max_attempts set default 5,
    alter column lost         set default 0,
    alter column created_at   set default pg_catalog.now(),
    alter column locked_until drop not null,
    alter column locked_by    drop not null,
    alter column unique_key   drop not null,
    alter column last_error   drop not null,
    alter column started_at   drop not null,
    alter column finished_at  drop not null,
    add constraint jobs_status_check check (status in ('queued', 'running', 'done', 'failed')) not valid,
    add constraint ebb_adopting check (queue is not null and payload is not null and status is not null and run_at is not null
        and attempts is not null and max_attempts is not null and lost is not null and created_at is not null) not valid
