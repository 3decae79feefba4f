-- Ends an adoption. The columns' own "not null" follows from the check, so that no row is read. Locks the table against
-- everyone for a moment.
alter table {{schema}}.jobs
    alter column queue        set not null,
    alter column payload      set not null,
    alter column status       set not null,
    alter column run_at       set not null,
    alter column attempts     set not null,
    alter column max_attempts set not null,
    alter column lost         set not null,
    alter column created_at   set not null;

alter table {{schema}}.jobs drop constraint ebb_adopting
