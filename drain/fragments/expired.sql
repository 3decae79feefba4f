-- Whether a running row's lease ran out.
(locked_until is null or locked_until <= pg_catalog.now())
