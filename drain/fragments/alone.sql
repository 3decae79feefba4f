-- Whether a row d was lost so often that it runs alone: twice, or once with its last attempt next.
(d.lost >= 2 or d.lost >= 1 and d.attempts::bigint + 1 >= d.max_attempts)
