-- Out: of jobs that are queued or running with one unique_key in one queue, where ebb allows one, the first ids. A table jobs
-- that has the column is read once.
select pg_catalog.array_to_string((pg_catalog.array_agg(id order by id))[1:2], ' and ')
from {{schema}}.jobs
where status in ('queued', 'running') and unique_key is not null
group by queue, unique_key
having pg_catalog.count(*) > 1
order by pg_catalog.min(id)
limit 3
