-- Looks whether the rows of an adopted table are as its checks want them. Reads it once for each check, beside whoever
-- works with the table: the lock (share update exclusive) keeps out other changes of the table only.
alter table {{schema}}.jobs validate constraint jobs_status_check;
alter table {{schema}}.jobs validate constraint ebb_adopting
