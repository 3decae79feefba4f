-- In: $1 schema, $2 names of indexes, $3 their tables. Out: for each that is not as it should be, where its table is
-- there: its name, its table, and missing; invalid (a build that did not come to its end: every write pays for it, no
-- query uses it); leftover (an invalid one of a name that Postgres or ebb gives to those set aside), with that name; or
-- taken (something else has the name); and the oid of what is there. No lock but on the catalog.
with wanted as (
    select w.name, w.tab, n.oid as namespace, t.oid as relation
    from rows from (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) as w (name, tab)
    join pg_catalog.pg_namespace n on n.nspname = $1
    join pg_catalog.pg_class t on t.relnamespace = n.oid and t.relname = w.tab and t.relkind = 'r'
)
select w.name, w.tab, case when c.oid is null then 'missing' when i.indexrelid is null then 'taken' else 'invalid' end, w.name, coalesce(c.oid::bigint, 0)
from wanted w
left join pg_catalog.pg_class c on c.relnamespace = w.namespace and c.relname = w.name
left join pg_catalog.pg_index i on i.indexrelid = c.oid and i.indrelid = w.relation
where i.indexrelid is null or not i.indisvalid
union all
select w.name, w.tab, 'leftover', c.relname::text, c.oid::bigint
from wanted w
join pg_catalog.pg_index i on i.indrelid = w.relation and not i.indisvalid
join pg_catalog.pg_class c on c.oid = i.indexrelid
where c.relname ~ ('^' || w.name || '_cc(new|old)[0-9]*$')
order by 3, 1, 4
