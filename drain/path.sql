-- Fails, by dividing by zero, where a role that is neither this one nor a superuser may create functions, operators or
-- types in a schema that the search_path names before pg_catalog: they would be called in place of Postgres' own. Nothing
-- after it in the exchange is done then.
--
-- in:    nothing
-- out:   1
-- locks: none
-- why:   pg_catalog comes first unless the search_path names it later, and then even an exact match of its own loses to
--        what stands before it. So here every operator is named with its schema. The same in each package that asks.
select 1 operator(pg_catalog./) (not exists (
    select from pg_catalog.unnest(pg_catalog.current_schemas(false)) with ordinality as s (name, place)
    join pg_catalog.pg_namespace n on n.nspname operator(pg_catalog.=) s.name
    join pg_catalog.pg_roles r on not r.rolsuper and r.rolname operator(pg_catalog.<>) current_user
                              and pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')
    where s.place operator(pg_catalog.<) pg_catalog.array_position(pg_catalog.current_schemas(false), 'pg_catalog')))::int
