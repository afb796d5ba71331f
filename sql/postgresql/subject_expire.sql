-- Makes the data of every refresh that has begun so far stale.
WITH expired AS (
    INSERT INTO rowlock.expiry AS e (name, expired)
    SELECT s.name, greatest({now_ms}, s.began) FROM rowlock.subject s
     WHERE s.name = {given $1} COLLATE "C"
        ON CONFLICT (name) DO UPDATE SET expired = greatest(e.expired + 1, excluded.expired)
    RETURNING 1)
SELECT pg_catalog.count(*) FROM expired;
