-- The last_error of a row j, in at most 8 KiB: a hand, or whoever may insert, may have written one of any size. Head and
-- tail are kept and the cut is marked, much as storable.go does; of a text that is not ASCII a quarter as many characters.
case when pg_catalog.octet_length(j.last_error) <= 8192 then j.last_error
     else (select case when pg_catalog.octet_length(c.head) > 3900 then pg_catalog.left(c.head, 975) else c.head end
                  || ' ... [' || pg_catalog.octet_length(j.last_error)::text || ' bytes, cut] ... '
                  || case when pg_catalog.octet_length(c.tail) > 3900 then pg_catalog.right(c.tail, 975) else c.tail end
           from (select pg_catalog.left(j.last_error, 3900) as head, pg_catalog.right(j.last_error, 3900) as tail offset 0) c) end
