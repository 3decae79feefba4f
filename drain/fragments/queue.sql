-- The queue of a row j, for showing: one longer than any that ebb enqueues to is cut.
case when pg_catalog.octet_length(j.queue) <= 512 then j.queue else pg_catalog.left(j.queue, 100) || ' ...' end
