-- Out: what rows of a table jobs keep it from being ebb's: values that the column could not have. Reads it once.
select case when status is null then 'null' else pg_catalog.quote_literal(pg_catalog.left(status, 100)) end
from {{schema}}.jobs
where status is null or status not in ('queued', 'running', 'done', 'failed')
group by status
order by status nulls first
limit 5
