-- The change of origin makes each session read the level again before its next grant.
WITH origin AS (UPDATE rowlock.origin o SET boot = o.boot)
INSERT INTO rowlock.setting (history, keep_good, keep_bad)
VALUES ((ARRAY['off', 'problems', 'slow', 'all'])[$1::bigint + 1], $2::bigint, $3::bigint)
    ON CONFLICT (only_one) DO UPDATE
   SET history = excluded.history, keep_good = excluded.keep_good, keep_bad = excluded.keep_bad;
