-- Whether a running row's lease ran out. One longer than any that ebb gives, infinity included, is a hand's work and
-- counts too: it would be there for ever.
(locked_until is null or locked_until <= pg_catalog.now() or locked_until > pg_catalog.now() + interval '31 days')
