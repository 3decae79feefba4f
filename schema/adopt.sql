-- Gives a jobs table of before ebb what it lacks. Nothing is removed from a row, and none is rewritten: a new column
-- with a constant default costs nothing. Locks the table against everyone while it runs; its checks read it once.
-- Finished rows keep a null finished_at: when they finished is not known.
alter table {{schema}}.jobs
    add column if not exists locked_by   text,
    add column if not exists lost        int not null default 0,
    add column if not exists unique_key  text,
    add column if not exists started_at  timestamptz,
    add column if not exists finished_at timestamptz;

-- A statement of its own: "drop not null" comes before "add column" within one.
alter table {{schema}}.jobs
    alter column queue        set default 'default',
    alter column queue        set not null,
    alter column payload      set not null,
    alter column status       set default 'queued',
    alter column status       set not null,
    alter column run_at       set default now(),
    alter column run_at       set not null,
    alter column attempts     set default 0,
    alter column attempts     set not null,
    alter column max_attempts set default 5,
    alter column max_attempts set not null,
    alter column lost         set default 0,
    alter column lost         set not null,
    alter column created_at   set default now(),
    alter column created_at   set not null,
    alter column locked_until drop not null,
    alter column locked_by    drop not null,
    alter column unique_key   drop not null,
    alter column last_error   drop not null,
    alter column started_at   drop not null,
    alter column finished_at  drop not null,
    add constraint jobs_status_check check (status in ('queued', 'running', 'done', 'failed'))
