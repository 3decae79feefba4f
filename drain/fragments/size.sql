-- How many bytes the payload of a row j prints. What is stored in a megabyte or more counts as too large to come with a
-- claim, so that nothing prints it only to measure it.
case when pg_catalog.pg_column_size(j.payload) < 1000000 then pg_catalog.octet_length(j.payload::text)::bigint
     else 9223372036854775807 end
