-- 2: it runs. The row is locked first: a claim may be under way.
WITH job AS MATERIALIZED (
    SELECT j.name, EXISTS (SELECT FROM rowlock.lease l
                            WHERE l.token = j.running AND l.token > 0
                              AND l.expires > pg_catalog.clock_timestamp()) AS runs
      FROM rowlock.job j WHERE j.name = {given $1} COLLATE "C" FOR UPDATE),
gone AS (
    DELETE FROM rowlock.job j USING job k WHERE j.name = k.name AND NOT k.runs RETURNING j.name),
runs AS (DELETE FROM rowlock.run r USING gone g WHERE r.job = g.name)
SELECT coalesce((SELECT CASE WHEN k.runs THEN 2 ELSE 1 END FROM job k), 0);
